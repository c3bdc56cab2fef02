"""The page 'What we learned': what became of the claims of the papers, each with the figures that its study computes.

A claim points at what a study computes for its own page, marks included: nothing of the answer is typed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reports.kit.markdown import filled
from reports.kit.page import results_of
from reports.kit.study import ROOT, study_named

MET, MISSED = "(met)", "(**missed**)"
HOLDS, IN_PART, FAILS, UNJUDGED, UNMEASURED = KINDS = (
    "holds", "holds in part", "does not hold", "not judged", "not measured"
)  # fmt: skip
PAGE = ROOT / "WHAT_WE_LEARNED.md"


@dataclass(frozen=True)
class Claim:
    """What a paper says, and where its study has the answer.

    says : the claim, with its place in the paper
    section : of the study's page
    lines : regular expression of the lines of the section that answer; '' takes all
    column : of a table, whose cells answer, each for the set in its line's first cell; None: the lines themselves
    anchor : heading of the study's page, as its address has it
    """

    says: str
    study: str
    section: str
    lines: str = ""
    column: str | None = None
    anchor: str = ""

    @property
    def address(self) -> str:
        """Return the link to the figures."""
        return f"{self.study.replace('-', '_')}/README.md{f'#{self.anchor}' if self.anchor else ''}"


CLAIMS = (
    # section 3.3 and figure 8
    Claim(
        "One epoch of LASVM and its finishing step is as accurate as LIBSVM (section 3.3, figure 8).",
        "lasvm-2005", "verdict", column="error", anchor="lasvm-against-libsvm-in-the-same-runs",
    ),
    Claim(
        "It needs fewer kernel values than LIBSVM (figure 8).",
        "lasvm-2005", "verdict", column="kernel values / LIBSVM's", anchor="lasvm-against-libsvm-in-the-same-runs",
    ),
    Claim(
        "It takes less time than LIBSVM (figures 4 and 8).",
        "lasvm-2005", "verdict", column="time / LIBSVM's", anchor="lasvm-against-libsvm-in-the-same-runs",
    ),
    Claim(
        "More epochs come to the exact solution; two are as good as exact (section 3.3).",
        "lasvm-2005", "objective", column="LASVM x2", anchor="how-near-one-two-and-five-epochs-come-to-the-optimum",
    ),
    Claim(
        "It gets along with little memory for kernel rows (figure 6).",
        "lasvm-2005", "figure6", lines=r"^\*", anchor="figure-6-less-memory-for-kernel-rows",
    ),
    Claim(
        "Selected examples reach LIBSVM's error with fewer support vectors, and sooner (figures 11 and 12).",
        "lasvm-2005", "figure11", lines=r"^\*", anchor="figures-11-and-12-selection-of-examples-on-adult",
    ),
    Claim(
        "The ramp loss keeps a third to a half of the support vectors where labels are noisy (Table 3).",
        "lasvm-nc", "verdict", column="SV: nc / full", anchor="the-order-that-table-3-shows",
    ),
    Claim(
        "It costs no accuracy (Table 3).",
        "lasvm-nc", "verdict", column="accuracy: nc - full", anchor="the-order-that-table-3-shows",
    ),
    Claim(
        "LASVM-I computes the fewest kernel values, the Full SVM the most (Table 3, figure 7).",
        "lasvm-nc", "verdict", column="kernel values, M", anchor="the-order-that-table-3-shows",
    ),
    Claim(
        "Expected rounds are at most 6 delta ln m, and half of them succeed (Theorems 2.2 and 4.3).",
        "random-sampling-2008", "verdict", anchor="rounds-over-m-and-n",
    ),
    Claim(
        "Much smaller samples are sufficient (section 2.3).",
        "random-sampling-2008", "smallest", anchor="how-small-r-may-be",
    ),
    Claim(
        "The combinatorial dimension is at most k (n + 1), and may be as small as n + 1 + k (Lemma 4.2, figures 4 and 5).",
        "random-sampling-2008", "bases-seen", anchor="the-combinatorial-dimension-itself-and-the-counterexample",
    ),
    Claim(
        "Tubes of regression are found in as few rounds (Theorems 5.1 and 5.2).",
        "random-sampling-2008", "tubes-seen", anchor="tubes-theorems-51-and-52",
    ),
    Claim(
        "Doubling finds a k that separates (section 6).",
        "random-sampling-2008", "choosing-seen", anchor="choosing-k-section-6",
    ),
    Claim(
        "With kernels the support takes the place of the dimension (section 2).",
        "random-sampling-2008", "kernels-seen",
    ),
    Claim(
        "Away steps make Frank-Wolfe converge linearly; without them it does not (Theorem 3.2).",
        "frank-wolfe-2009", "verdict", anchor="linear-rate-and-sublinear-rate",
    ),
    Claim(
        "A core set keeps a margin of 1 - epsilon, and is far smaller than the points (Theorem 3.3).",
        "frank-wolfe-2009", "seen", lines="core set|Core set",
    ),
    Claim(
        "Where the core set is small it should be competitive (section 5 asks for the study).",
        "frank-wolfe-2009", "against-peer",
    ),
    Claim(
        "On linear problems too (against LinearSVC).",
        "frank-wolfe-2009", "against-library", lines="linear",
    ),
    Claim(
        "RandSVM over an exact solver is faster than the solver alone, to nearly its accuracy (Table 1).",
        "randsvm", "verdict", anchor="table-1-classification",
    ),
    Claim(
        "RGD is more accurate than soft margins and the ramp losses on data with wrong labels (Table 1, figure 4(d)).",
        "rgd-tree-2015", "figure4d", column="error lower by", anchor="benchmark-data-table-1-and-figure-4d",
    ),
    Claim(
        "Some node of a tree is nearly optimal with the probability of Theorem 2.",
        "rgd-tree-2015", "theorem", column="promised",
    ),
    Claim(
        "Looking at 59 points is as good as looking at all, and faster (section 3.2, figure 2).",
        "border-2007", "verdict", lines="small pool",
    ),
    Claim(
        "Active learning stops early without a loss, with a part of the labels (section 3.3, Table 1).",
        "border-2007", "verdict", lines="early stop|Labels bought",
    ),
    Claim(
        "It is faster than SMOTE, and ranks first in PRBEP (Tables 3 and 4).",
        "border-2007", "verdict", lines="SMOTE|rank",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What the study says: how many of the figures hold, and the figures."""

    met: int
    missed: int
    told: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Whether the claim holds: by the marks that the study computes."""
        if not self.met + self.missed:
            return UNJUDGED if self.told else UNMEASURED
        return HOLDS if not self.missed else IN_PART if self.met else FAILS


@cache
def sections_of(study: str) -> dict[str, str]:
    """Return what a study computes for its page."""
    found = study_named(study)
    return found.sections(results_of(found))


def cells(text: str, column: str) -> list[tuple[str, str]]:
    """Return (first cell, cell of ``column``) of each line of a table; ``column``: how its heading begins."""
    lines = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("|")
    ]
    if len(lines) < 2:
        return []
    place = next((at for at, cell in enumerate(lines[0]) if cell.startswith(column)), None)
    if place is None:
        raise ValueError(f"there is no column '{column}...' among {', '.join(lines[0])}.")
    return [(line[0].strip("| *"), line[place].strip("| ")) for line in lines[2:]]


def answer(claim: Claim) -> Answer:
    """Return what its study says of a claim; a figure without a mark is told, and decides nothing."""
    text = sections_of(claim.study)[claim.section]
    if claim.column is None:
        lines = [
            line for line in text.splitlines() if line and not line.startswith("|") and re.search(claim.lines, line)
        ]
        told = tuple(line.removeprefix("* ") for line in lines)
    else:
        found = [(name, cell) for name, cell in cells(text, claim.column) if cell]
        marked = [(name, cell) for name, cell in found if MET in cell or MISSED in cell] or found
        lines = [cell for _, cell in marked]
        told = (", ".join(f"{name} {cell.replace(MET, '').strip()}" for name, cell in marked),) if marked else ()
    return Answer(*(sum(line.count(mark) for line in lines) for mark in (MET, MISSED)), told)


def table() -> str:
    """Return the claims with their answers, a paragraph each."""
    blocks = []
    for study in dict.fromkeys(claim.study for claim in CLAIMS):
        blocks.append(f"### {study_named(study).title}")
        for claim in (each for each in CLAIMS if each.study == study):
            found = answer(claim)
            told = "\n".join(f"  * {line}" for line in found.told) or "  * not measured"
            blocks.append(
                f"* **{claim.says}** {found.verdict[0].upper()}{found.verdict[1:]} ([figures]({claim.address})).\n{told}"
            )
    return "\n\n".join(blocks)


def counted() -> str:
    """Return how many claims hold."""
    verdicts = [answer(claim).verdict for claim in CLAIMS]
    kinds = [f"{kind}: {verdicts.count(kind)}" for kind in KINDS if kind in verdicts]
    return f"{len(verdicts)} claims; {', '.join(kinds)}."


def sections() -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    together = sections_of("side-by-side")
    return {"counted": counted(), "claims": table(), "summary": together["summary"], "seen": together["seen"]}


def write() -> Path:
    """Write the page; the prose between the markers stays."""
    PAGE.write_text(filled(PAGE.read_text(), sections()))
    return PAGE
