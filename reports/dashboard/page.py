"""The page reports/dashboard/README.md: pictures, which run.py takes, and what is run for them."""

from __future__ import annotations

from reports.dashboard.run import ASKED, FOLDER, GAP, MINUTES, REPEAT, SECONDS, SHAPED, SIZES, SOLVERS, SWEEP_C
from reports.kit.page import Page


def sections() -> dict[str, str]:
    """Return what is run."""
    sizes = [f"{n:,}" for n in SIZES]
    solvers = ", ".join(f"`{name}`" for name in SOLVERS.split(","))
    return {
        "runs": f"{solvers} are asked for a relative gap of {GAP} on {len(SHAPED)} generated data sets of {', '.join(sizes[:-1])} "
        f"and {sizes[-1]} points, two embedded sets and a checkerboard, {REPEAT} times each, {SECONDS} seconds at most; one set has "
        f"a sweep over C = {', '.join(SWEEP_C.split(','))}, and four solvers of l2-svc one on three small sets. One command compares "
        f"(at most {MINUTES} minutes on a free core), writes the page and takes the pictures (it needs chromium and its driver):",
        "asked": "The landing page says which solver to take for a kind of problem, and how sure that is. Here it is asked for "
        f"{ASKED['n']:,} points in {ASKED['d']} dimensions at a certified gap of {GAP}: type the points and the dimensions, and "
        "choose the gap.",
    }


PAGE = Page(FOLDER, sections)
