"""The site is built without a warning, all names of the code are in it, and one without a description fails the build."""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.main import EXIT_CODES
from harness.measure.outcome import Status, StoppedBy
from harness.registry import hookspecs
from harness.run.record import TYPES

ROOT = Path(__file__).resolve().parents[2]


def build(target: Path, *options: str, code: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build the site of a copy of the code and its pages, warnings as errors."""
    paths = [str(code), str(ROOT / "plugins"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    places = ["-d", f"{target}.doctrees", "docs", str(target)]
    command = [sys.executable, "-m", "sphinx", "-N", "-q", "-W", *options, *places]
    return subprocess.run(command, cwd=code, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; that it is built without a warning says that the number of undocumented names is 0."""
    target = tmp_path_factory.mktemp("docs") / "site"
    done = build(target)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return target


def words(page: Path) -> set[str]:
    return set(re.findall(r"[\w.-]+", html.unescape(re.sub(r"<[^>]+>", " ", page.read_text()))))


def test_the_page_on_ci_has_the_exit_codes() -> None:
    page = " ".join((ROOT / "docs/how-to/ci-gate.md").read_text().split())
    assert f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}." in page


@pytest.mark.slow
def test_every_name_is_in_the_site(site: Path) -> None:
    pages = ("record", "statuses", "hooks", "api", "modules", "command")
    shown = {name: words(site / f"reference/{name}.html") for name in pages}
    assert set(TYPES) <= shown["record"]
    assert {*map(str, Status), *map(str, StoppedBy)} <= shown["statuses"]
    assert {name for name in vars(hookspecs) if name.startswith("harness_")} <= shown["hooks"]
    public = re.findall(r"^(harness\.[\w.-]+)", (ROOT / "docs/public_names.txt").read_text(), re.MULTILINE)
    assert len(public) > 250
    said = {word.rpartition(".")[2] for page in ("api", "modules") for word in shown[page]}
    assert {name.rpartition(".")[2] for name in public} <= said
    assert {"--plugins", "--target-gap", "--delete", "merge", "install"} <= shown["command"]


@pytest.mark.slow
def test_the_site_asks_for_nothing_from_the_net(site: Path) -> None:
    asked = r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?:https?:)?//[^\"]+"
    assert [found for page in site.rglob("*.html") for found in re.findall(asked, page.read_text())] == []
    assert [page.name for page in site.rglob("*.css") if re.search(r"url\(\W?(?:https?:)?//", page.read_text())] == []
    assert "<math" in (site / "reference/formulations.html").read_text()


@pytest.mark.slow
def test_every_picture_is_made_by_the_build(site: Path) -> None:
    """Each ``{plot}`` block is drawn; the one other picture takes minutes to measure, so it is stored beside the pages."""
    sources = {page: (ROOT / "docs" / page).with_suffix(".md").read_text() for page in pages_of(site)}
    plots = {page: source.count("```{plot}") for page, source in sources.items()}
    assert plots["gallery"] > 1
    assert plots["index"] > 0
    stored = [
        shown for source in sources.values() for shown in re.findall(r"!\[.*\]\((.*)\)|```{(?:image|figure)}", source)
    ]
    assert stored == [f"pictures/{picture.name}" for picture in (ROOT / "docs/pictures").iterdir()]
    for page, count in plots.items():
        pictures = re.findall(r'<img [^>]*class="plot"[^>]*src="([^"]+)"', (site / f"{page}.html").read_text())
        pictures += re.findall(r'<img [^>]*src="([^"]+)"[^>]*class="plot"', (site / f"{page}.html").read_text())
        assert len(pictures) == count, page
        assert all("</svg>" in (site / page).parent.joinpath(picture).read_text() for picture in pictures)


def pages_of(site: Path) -> list[str]:
    made = {"search", "genindex"}
    return [name for page in site.rglob("*.html") if (name := str(page.relative_to(site).with_suffix(""))) not in made]


PAGE = """# Page

Wrong: $\\frac12 x$, $\\frac{a}12$, $x_12$. Right: $\\tfrac1{23}$, $\\frac{1}{2} x_1^2 10^{-12} \\le 10$.

```{plot} Nothing
x = 1
x / 0
```
"""


def test_a_formula_without_braces_and_a_plot_that_fails_are_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/written.py", tmp_path / "docs")
    configuration = (
        "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent))\n"
        'extensions = ["myst_parser", "written"]\nhtml_math_renderer = "mathml"\nmyst_enable_extensions = ["dollarmath"]\n'
    )
    (tmp_path / "docs/conf.py").write_text(configuration)
    (tmp_path / "docs/index.md").write_text(PAGE)
    done = build(tmp_path / "site", code=tmp_path)
    assert done.returncode == 1
    assert re.findall(r"in braces: (\S+)", done.stderr) == [r"\frac12", r"\frac{a}12", "_12"]
    assert "cannot be drawn: ZeroDivisionError" in done.stderr
    assert done.stderr.count("WARNING") == 4


PLANTED = {
    "registry/hookspecs.py": (
        "",
        "\n\n@hookspec\ndef harness_planted() -> None:\n    return None\n",
        "hook harness_planted",
    ),
    "run/record.py": (
        "    key: A[",
        '    planted_count: A[Count, ""] = None\n    key: A[',
        "record field planted_count",
    ),
    "support/errors.py": (
        "",
        '\nimport os\n\nos.environ.get("HARNESS_PLANTED")\n',
        "environment variable HARNESS_PLANTED",
    ),
    "cli/main.py": ("EXIT_CODES = {", "EXIT_PLANTED = 71\nEXIT_CODES = {", "exit code 71"),
}


@pytest.mark.slow
def test_a_name_without_a_description_fails_the_build(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "harness", tmp_path / "harness")
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("_build", "*.md"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "docs/index.md").write_text("# A site of one page\n")  # the others take seconds
    for name, (old, new, _) in PLANTED.items():
        file = tmp_path / "harness" / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new) if old else text + new)
    done = build(tmp_path / "site", "-b", "dummy", "-D", "suppress_warnings=made.unseen", code=tmp_path)
    assert done.returncode == 1
    expected = {"unit of the record field planted_count", *(name for _, _, name in PLANTED.values())}
    assert set(re.findall(r"WARNING: undocumented: (.*)", done.stderr)) == expected
    assert done.stderr.count("WARNING") == len(PLANTED) + 1
