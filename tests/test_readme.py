"""The README: what it links to is there, and its map is true. Its blocks are run by tests/docs/test_blocks.py."""

import re
from pathlib import Path

from tests.docs.blocks import blocks

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


def test_linked_files_exist() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README.read_text())
    assert links
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()] == []


def test_the_map_shows_what_is_there() -> None:
    (tree,) = [block for block in blocks(README, "text") if block.startswith("harness/")]
    shown, folder = set(), ""
    for line in tree.splitlines():
        first, *more = line.split()
        folder = folder if line.startswith(" ") else first
        names = [first, *(name for name in more if name.endswith("/") and line.startswith(" "))]
        shown.update(name if name == folder else f"{folder}{name}" for name in names)
    assert [name for name in shown if not (ROOT / name).exists()] == []
    folders = [
        path for top in ("harness", "plugins") for path in (ROOT / top).iterdir() if (path / "__init__.py").exists()
    ]
    assert [path for path in folders if not {str(path.relative_to(ROOT)), f"{path.relative_to(ROOT)}/"} & shown] == []


def test_every_study_is_linked() -> None:
    studies = [path.parent.name for path in ROOT.glob("reports/*/README.md")]
    listed = (ROOT / "reports/README.md").read_text()
    assert "](reports/README.md)" in README.read_text()
    assert [name for name in studies if f"({name}/README.md)" not in listed] == []


def test_it_is_one_page() -> None:
    assert len(README.read_text().splitlines()) <= 150
