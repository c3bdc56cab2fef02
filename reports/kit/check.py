"""What does not stand on a page of reports: text its rows do not give, numbers and marks nobody computed, ratios that may not be.

A number in prose is filled in by the page's code (``<!-- n key -->4.07<!-- /n -->``), or listed in ``prose.csv`` beside the page with
the words before it and its source: a generated section of the page, ``published``, ``plan``, or else the reason why it may stand
there. Each is looked up in its source. Not listed are numbers

* in backticks or a code block, a link, a date, a year, a power, an interval in brackets, an equation's number in parentheses;
* behind the word that they belong to: section, figure, table, theorem, lemma, step, JMLR, ...; or behind ``C =`` and the like;
* whole and up to ten without a unit: "5 epochs", but not "5 times" or "5 %".

    python -m reports.kit.check [PAGE ...]           # what does not stand
    python -m reports.kit.check [PAGE ...] --list    # write prose.csv anew: reasons stay, new numbers get the source that has them
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from reports.kit.markdown import NUMBER_MARK, SECTION_MARK, filled
from reports.kit.measured import watched
from reports.kit.page import PAGES, Page, page_named

_NUMBER = r"[-+\u2212]?(?<![\w.])\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]?\d+)?"
_NUMBERS = re.compile(rf"(?<![\w.^/])(?<!\w-)({_NUMBER})(?![\w^]|[.,]\d|-\w)(\s*(?:%|\w+))?")
_AND = r"(?:\s*(?:,|and|or|to|with|/|-|\u2013)\s*)+"
_PLACE = (
    r"(?:sections?|figures?|tables?|theorems?|lemmas?|corollar(?:y|ies)|algorithms?|equations?|chapters?|pages?|steps?|parts?|JMLR|PMLR"
    r"|volume|version|python|libsvm|digits?|seeds?|realisations?|line|item)"
)
_ONE = r"\(?\d+(?:\.\d+)*[a-z]?\)?(?:\([a-z0-9]+\))?"
_LETTER = r"(?:C|D|K|M|N|T|S|R|[a-z]|gamma|eps|epsilon\w*|delta|tau|nu|mu|sigma|lambda|chi|zeta|rho|tol|eta)"
_KNOWN = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"(?s:```.*?```)|(?<=\n\n)(?: {4}.*(?:\n|$))+", 0),
        (r"`[^`]*`", 0),
        (r"\]\([^)]*\)|https?://\S+", 0),
        (r"\b\d{4}-\d{2}-\d{2}\b|\b(?:19|20)\d{2}\b(?![,.]\d)", 0),
        (rf"\b{_PLACE}\s+{_ONE}(?:{_AND}(?:{_PLACE}\s+)?{_ONE})*", re.IGNORECASE),
        (rf"(?<!\w){_LETTER}\s*(?:=|<|>|<=|>=|≤|≥)\s*{_NUMBER}(?:\^-?\d+)?(?:{_AND}{_NUMBER}(?!\s*%))*", 0),
        (r"\b\d+\^[-\w(]+|\b\d+\s*x\s*10\^-?\d+", 0),
        (r"[\[(]\s*-?\d+\s*,\s*-?\d+\s*[\])]|\(\d{1,3}\)", 0),
    )
)
_UNITS = re.compile(
    r"%|per|points?|times|fold|seconds?|s|ms|minutes?|min|hours?|h|million|billion|thousand|M|MB|GB|MiB|GiB|SV|KB",
    re.ASCII,
)
_MARK = re.compile(r"\((?:\*\*)?(?:met|missed)(?:\*\*)?\)|\*\*(?:met|missed)\*\*")
_LIMITS = ("limit", "patience")
_AVERAGES = ("mean", "median", "spread", "values")


def violations(page: Page) -> list[str]:
    """Return what does not stand on a page, a sentence each."""
    path = page.folder / "README.md"
    text, found = path.read_text(), []
    sections, numbers = page.sections(), page.numbers()
    if filled(text, sections, numbers) != text:
        amiss = [name for name in sections if filled(text, {name: sections[name]}) != text] or ["a number in the text"]
        found.append(f"the rows give another text: {', '.join(amiss)}")
    generated = set(SECTION_MARK.findall(text))
    found += [
        f"section {name} has markers, and no code makes it" for name, _ in sorted(generated) if name not in sections
    ]
    found += unfounded(page, text, sections)
    prose = _bare(text)
    found += [f"the mark {mark[0]} is not computed: … {_around(prose, mark)} …" for mark in _MARK.finditer(prose)]
    with watched() as noted:
        for apart in (False, True):
            try:
                page.remake(apart)
            except Exception as error:  # whatever it is, the page cannot be made of such rows
                found.append(
                    f"it fails{' where nothing may be compared' if apart else ''}: {type(error).__name__}: {error}"
                )
    found += list(dict.fromkeys(noted))
    found += [each for file in sorted(page.folder.glob("*.py")) for each in divisions(file)]
    return found


@dataclass(frozen=True)
class Stated:
    """A number in prose: the words before it, and where it is from."""

    before: str
    number: str
    source: str = ""


def unfounded(page: Page, text: str, sections: Mapping[str, str]) -> Iterator[str]:
    """Yield what is amiss with the numbers in prose: not listed, listed and gone, or not in their source."""
    listed = {(each.before, each.number): each.source for each in _listed(page)}
    there = {(each.before, each.number): each for each, _ in in_prose(text)}
    for key, each in there.items():
        if key not in listed:
            yield f"'{each.number}' behind '… {each.before}' is not listed in prose.csv"
    for (before, number), source in listed.items():
        texts = _sources(page, sections)
        if (before, number) not in there:
            yield f"prose.csv lists '{number}' behind '… {before}', which the text has not"
        elif not source:
            yield f"'{number}' behind '… {before}' has no source: no section, published number or plan has it"
        elif source in texts and not _holds(texts[source], number):
            yield f"'{number}' behind '… {before}' is no number of its source, {source}"


def _sources(page: Page, sections: Mapping[str, str]) -> dict[str, str]:
    return {**sections, **page.sources()}


def _holds(text: str, number: str) -> bool:
    value = _value(number)
    return any(abs(_value(each)) == abs(value) for each in _all(text))


def _listed(page: Page) -> list[Stated]:
    path = page.folder / "prose.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [Stated(**each) for each in csv.DictReader(file)]


def listed_anew(page: Page) -> list[Stated]:
    """Return the numbers in prose with their sources: those given before while they hold, else a section of
    the chapter that has the number, or any source if it has three digits or more."""
    text, sections = (page.folder / "README.md").read_text(), page.sections()
    texts, known = _sources(page, sections), {(each.before, each.number): each.source for each in _listed(page)}
    found = {}
    for each, chapter in in_prose(text):
        key, source = (each.before, each.number), known.get((each.before, each.number), "")
        if not source or (source in texts and not _holds(texts[source], each.number)):
            near = [name for name, _ in SECTION_MARK.findall(chapter)]
            far = texts if len(re.sub(r"e.*|\D", "", each.number).lstrip("0")) > 2 else ()  # two digits are anywhere
            source = next((name for name in (*near, *far) if name in texts and _holds(texts[name], each.number)), "")
        found[key] = Stated(each.before, each.number, source)
    return list(found.values())


def write_list(page: Page) -> int:
    """Write prose.csv anew; return how many numbers have no source."""
    rows = listed_anew(page)
    path = page.folder / "prose.csv"
    path.unlink(missing_ok=True)
    if rows:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["before", "number", "source"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(each) for each in rows)
    return sum(not each.source for each in rows)


def in_prose(text: str) -> Iterator[tuple[Stated, str]]:
    """Yield the numbers in prose that are to be listed, each with the chapter it stands in."""
    for chapter in re.split(r"(?m)^(?=## )", text):
        prose = " ".join(_bare(chapter).split())
        for pattern in _KNOWN[2:]:
            prose = pattern.sub(" ¦ ", prose)
        for found in _NUMBERS.finditer(prose):
            value, unit = _value(found[1]), (found[2] or "").strip()
            if value in range(11) and "." not in found[1] and not _UNITS.fullmatch(unit):
                continue
            words = re.findall(r"\w[\w'-]*", prose[: found.start()])[-3:]
            yield Stated(" ".join(words), found[1]), chapter


def _bare(text: str) -> str:
    """Return a page without what is generated, and without code."""
    text = re.sub(r"<!-- begin (\S+) -->.*?<!-- end \1 -->", " ", text, flags=re.DOTALL)
    text = NUMBER_MARK.sub(" ¦ ", text)
    for pattern in _KNOWN[:2]:
        text = pattern.sub(" ¦ ", text)
    return re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)


def _around(text: str, found: re.Match[str]) -> str:
    return " ".join(text[max(0, found.start() - 40) : found.end() + 30].split())


def _all(text: str) -> Iterator[str]:
    return (each[0] for each in re.finditer(r"(?<![\w.])[-+\u2212]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]?\d+)?", text))


def _value(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))


def numbers_in(plan: Any) -> str:
    """Return the numbers of a plan, those of its selections too, as a text."""
    if is_dataclass(plan):
        return " ".join(numbers_in(getattr(plan, each.name)) for each in fields(plan))
    if isinstance(plan, dict):
        return " ".join(f"{numbers_in(key)} {numbers_in(each)}" for key, each in plan.items())
    if isinstance(plan, (list, tuple, set, frozenset)):
        return " ".join(numbers_in(each) for each in plan)
    return (
        re.sub(r"[^\d.e+-]", " ", plan)
        if isinstance(plan, str)
        else f"{plan}"
        if isinstance(plan, (int, float))
        else ""
    )


def divisions(file: Path) -> Iterator[str]:
    """Yield the divisions of averages by averages in a module, and those of a wall limit or by one."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            continue
        place = f"{file.parent.name}/{file.name}:{node.lineno}"
        if all(_calls(side, _AVERAGES) for side in (node.left, node.right)):
            yield f"{place}: a raw division of averages; results.quotient or ratio sees to it that they may be divided"
        if any(_reads(side, _LIMITS) for side in (node.left, node.right)):
            yield f"{place}: a limit, which is wall time, is divided"


def _calls(node: ast.AST, names: Iterable[str]) -> bool:
    return any(
        isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr in names
        and isinstance(each.func.value, ast.Name)
        and each.func.value.id == "results"
        for each in ast.walk(node)
    )


def _reads(node: ast.AST, names: Iterable[str]) -> bool:
    return any(
        (isinstance(each, ast.Attribute) and each.attr in names)
        or (isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Constant) and each.slice.value in names)
        for each in ast.walk(node)
    )


def main(words: Sequence[str]) -> int:
    """Say what does not stand, or write the lists anew; return 1 if anything does not stand."""
    amiss = 0
    for name in [each.replace("-", "_") for each in words if each != "--list"] or PAGES:
        page = page_named(name)
        if "--list" in words:
            print(f"{name}: {write_list(page)} numbers without a source")
            continue
        found = violations(page)
        amiss += len(found)
        print("\n".join([f"{name}: {len(found)}", *(f"  {each}" for each in found)]))
    return int(amiss > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
