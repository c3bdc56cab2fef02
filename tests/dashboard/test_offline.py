"""The scripts of others: unchanged, licensed, and all that asv's pages load."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

asv = pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard.offline import LOCAL, VENDOR, localized  # noqa: E402

INDEX = (Path(asv.__file__).parent / "www" / "index.html").read_text()
SAME_AS_ASV_ASKS_FOR = {
    "jquery-3.3.1.min.js", "jquery.flot.orderBars.js", "md5.min.js", "bootstrap.min.js", "bootstrap.min.css",
}  # fmt: skip


def test_no_page_of_asv_loads_anything_from_elsewhere():
    for page in (Path(asv.__file__).parent / "www").glob("*.html"):
        html, missing = localized(page.read_text())
        assert missing == []
        assert re.findall(r"<(?:script|link|img)[^>]*//[^>]*>", html) == []


def test_an_address_without_a_copy_is_named_and_links_for_people_stay():
    page = '<a href="https://example.org/x.js">x</a><script src="//cdn.example.org/new.js"></script>'
    assert localized(page) == (page, ["//cdn.example.org/new.js"])


def test_tags_lose_the_hash_of_the_other_file():
    page = '<script src="https://c.example.org/a/md5.min.js" integrity="sha512-x" crossorigin="anonymous"></script>'
    assert localized(page)[0] == '<script src="vendor/blueimp-md5/md5.min.js"></script>'


@pytest.mark.parametrize("name", sorted(SAME_AS_ASV_ASKS_FOR))
def test_a_copy_has_the_hash_that_asv_asks_for(name):
    asked = re.search(re.escape(name) + r'"\s+integrity="(sha\d+)-([^"]+)"', INDEX)
    assert asked, f"{name} is not in asv's page"
    content = (VENDOR / LOCAL[name]).read_bytes()
    assert base64.b64encode(hashlib.new(asked[1], content).digest()).decode() == asked[2]


def test_every_copy_is_there_with_its_licence_and_its_line_in_the_readme():
    readme = (VENDOR / "README.md").read_text()
    folders = {path.name for path in VENDOR.iterdir() if path.is_dir()}
    assert {copy.partition("/")[0] for copy in LOCAL.values()} | {"d3"} == folders
    for copy in LOCAL.values():
        assert (VENDOR / copy).is_file()
    for folder in folders:
        (licence,) = (VENDOR / folder).glob("LICENSE*")
        assert len(licence.read_text()) > 500
        assert f"| `{folder}` |" in readme


def test_no_copy_is_forgotten_in_the_distribution():
    import tomllib

    patterns = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    patterns = patterns["tool"]["setuptools"]["package-data"]["harness_dashboard"]
    root = VENDOR.parent
    packed = {path for pattern in patterns for path in root.glob(pattern)}
    wanted = {path for folder in ("vendor", "pages") for path in (root / folder).rglob("*")}
    assert {path for path in wanted if path.is_file()} <= packed
