"""The page of symbols and names speaks of names that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/explanation/notation.md").read_text()
SOURCE = "\n".join(path.read_text() for folder in ("harness", "plugins") for path in (ROOT / folder).rglob("*.py"))
WORDS = set(re.findall(r"[\w-]+", SOURCE))


def names(page):
    """The words in code type, without what is called or indexed with them."""
    return {word for code in re.findall(r"`([^`]+)`", page) for word in re.findall(r"[A-Za-z_][\w-]*", code)}


def test_every_name_is_one_of_the_code():
    assert len(names(PAGE)) > 60
    assert names(PAGE) <= WORDS


def test_each_word_has_one_row():
    words = re.findall(r"^\| (\w[\w ,]*?) \|", PAGE.split("## LASVM")[0], re.MULTILINE)
    assert {"block", "oracle"} <= set(words)
    assert len(words) == len(set(words))
