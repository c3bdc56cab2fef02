"""What does not stand on a page of reports: text its rows do not give, numbers and marks nobody computed, ratios that may not be.

A number in prose is filled in by the page's code (``<!-- n key -->4.07<!-- /n -->``), or it is one of:

* in backticks or a code block, a link, a date, a year, a power, an interval in brackets, an equation's number in parentheses;
* behind the word that it belongs to: section, figure, table, theorem, lemma, step, JMLR, ...; or behind ``C =`` and the like;
* a whole number up to ten without a unit: "5 epochs", but not "5 times" or "5 %";
* one of the generated sections of the page, of published.csv or of the plan;
* part of a phrase that the page states, with the reason why it may.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from reports.kit.markdown import NUMBER_MARK, SECTION_MARK, filled
from reports.kit.measured import watched
from reports.kit.page import Page

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
        (r"```.*?```", re.DOTALL),
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
    found += [
        f"'{number}' in the text is no number of the rows: … {around} …"
        for number, around in unfounded(page, text, sections)
    ]
    found += [f"the mark {mark[0]} is not computed: … {_around(text, mark)} …" for mark in _MARK.finditer(_bare(text))]
    with watched() as noted:
        try:
            page.apart()
        except Exception as error:  # whatever it is, the page cannot be made of such rows
            found.append(f"it fails where nothing may be compared: {type(error).__name__}: {error}")
    found += list(dict.fromkeys(noted))
    found += [each for file in sorted(page.folder.glob("*.py")) for each in divisions(file)]
    return found


def unfounded(page: Page, text: str, sections: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the numbers in prose that are neither filled in, nor of a known kind, nor of the page's own, with what is around."""
    known = {_value(each) for part in (*sections.values(), *page.sources()) for each in _all(part)}
    prose = " ".join(_bare(text).split())
    for phrase, reason in page.stated.items():
        if " ".join(phrase.split()) not in prose:
            yield phrase, f"stated, '{reason}', and not there"
        prose = prose.replace(" ".join(phrase.split()), " ¦ ")
    for pattern in _KNOWN[2:]:
        prose = pattern.sub(" ¦ ", prose)
    for number in _NUMBERS.finditer(prose):
        value, unit = _value(number[1]), (number[2] or "").strip()
        counting = value in range(11) and "." not in number[1] and not _UNITS.fullmatch(unit)
        if not counting and value not in known and -value not in known:
            yield number[1], _around(prose, number)


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
