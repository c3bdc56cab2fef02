"""The settings of a study: the one table of the command's options, a call's keywords and the keys of a study file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.call import values
from harness.call.values import Reader

WHAT, PROBLEM, PATH = "What to compare", "The problem", "A path of problems"
LIMITS, HOW = "Limits of a run", "How to measure"


@dataclass(frozen=True)
class Setting:
    """One of them.

    section, help : of the command's help
    reader : of its text; None: it is true or false
    default : as text; none: it is left to the data and the solvers
    several : it is a list of texts, each of which may name several things
    often : it is one of those that most people use first
    """

    name: str
    section: str
    help: str
    reader: Reader | None = None
    default: str | None = None
    several: bool = False
    often: bool = False


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("plugins", WHAT, "Required. Solvers, or all of a plugin: smo,libsvm  'lasvm[epochs=[1,2]]'  'fw/*'. Repeatable.",
                values.SELECTION, several=True, often=True),
        Setting("datasets", WHAT, "Data sets, or your own files: digits  'checkerboard[n=1000],./mine.csv'. Repeatable.",
                values.SELECTION, "digits,breast-cancer", several=True, often=True),
        Setting("plugin_path", WHAT, "A plugin that is not installed: a .py file or a package folder. Repeatable.",
                Reader("FILE", str), several=True),
        Setting("formulation", PROBLEM, "The SVM to train: c-svc  l2-svc,eps-svr  'nu-svc[nu=[0.1,0.5]]'.  [default: what each "
                "solver prefers]", values.SELECTION, often=True),
        Setting("kernel", PROBLEM, "rbf  'rbf[gamma=[0.1,1]],linear'  'poly[degree=2]'.  [default: the data set's]", values.SELECTION,
                often=True),
        Setting("C", PROBLEM, "What a margin violation costs, above 0.  [default: the data set's]", values.COSTS, often=True),
        Setting("gamma", PROBLEM, "The kernel's gamma, above 0, or 'scale': 1 / (d var(x)).  [default: the data set's]",
                values.GAMMAS, often=True),
        Setting("epsilon", PROBLEM, "Half the width of the tube of regression, in units of y.", values.WIDTHS),
        Setting("nu", PROBLEM, "The share of outliers is at most this, that of support vectors at least this.", values.SHARES),
        Setting("path", PATH, "Solve a grid in one run: C,gamma (their usual values)  'C=2^-5..2^15:2^2,gamma=[0.1,1]'.",
                values.PATH),
        Setting("folds", PATH, "Choose the best cell of the grid by cross-validation with so many folds.", values.FOLDS),
        Setting("cold", PATH, "Solve the cells one by one too, each from nothing."),
        Setting("target_gap", LIMITS, "The relative gap that every solver has to reach, such as 1e-3. Times are ranked only with "
                "it.", values.POSITIVE, often=True),
        Setting("time_limit", LIMITS, "Time in the solver that stops a run: 90s, 5m, 1h. One that you set is an equal "
                "budget.", values.DURATION, "10m", often=True),
        Setting("memory_limit", LIMITS, "Memory of a run, and of reading the data: 512M, 2G.", values.MEMORY),
        Setting("kernel_evaluation_limit", LIMITS, "Kernel evaluations that stop a run.", values.COUNT),
        Setting("iteration_limit", LIMITS, "Iterations that stop a run.", values.COUNT),
        Setting("repeat", HOW, "How often each run is carried out; auto: until the fastest solvers are known.  [default: auto with a "
                "target gap, else 1]", values.REPEAT, often=True),
        Setting("threads", HOW, "Threads of a run, at most one a core.", values.COUNT, "1", often=True),
        Setting("seeds", HOW, "Seeds of the random numbers: 0,1,2 or 0-4.", values.SEEDS, "0"),
        Setting("jobs", HOW, "How many runs go on at the same time, each on cores of its own.", values.COUNT, "1"),
        Setting("executor", HOW, "Carry the runs out on other machines: dask://HOST:PORT  'dask://local?workers=2'."
                "  [default: this machine's processes]", Reader("SCHEME://PLACE", str)),
        Setting("part", HOW, "Carry out one of N parts of the runs, the I-th, as the tasks of an array job do: 3/8.", values.PART),
        Setting("cache_mb", HOW, "Memory for the kernel rows that a run keeps.", values.MEGABYTES, "256"),
        Setting("keep_models", HOW, "Store the final model of each run too, so that `harness results export` makes a bundle that "
                "others can verify."),
        Setting("metrics", HOW, "Further test metrics: g-means,roc-auc.", values.NAMES),
        Setting("core_set_oracle", HOW, "The solver of the core sets of hull formulations, for margin(all) / margin(core set): qp.",
                values.SELECTION),
    )
}  # fmt: skip

IN_PYTHON = {
    "format": "result.frame",
    "output": "result.to_html(path)",
    "dry_run": "`harness compare --dry-run`",
    "explain": "result.explain()",
    "plot": "result.plot()",
    "cells": "result.frame",
}
"""Option of the command alone -> what Python has in its place."""
_FLAGS = ("fresh", "yes", "quiet", *(name for name, setting in SETTINGS.items() if setting.reader is None))
_VALUE = (
    r"'[^'\n]*'|\d[\w.+-]*\w|\d|\w+(?:,\w+)+|(?<=kernel )[\w-]+|(?<=formulation )[\w-]+|(?<=format )\w+(?: or \w+)?"
)
_OPTION = re.compile(rf"`[^`]*`|--(?P<name>[A-Za-z][A-Za-z-]*)(?: (?P<value>{_VALUE}))?")


def in_python(text: str) -> str:
    """Return a text with arguments of Python in the place of the command's options; commands in backticks stay as they are."""
    return _OPTION.sub(_argument, text)


def _argument(option: re.Match[str]) -> str:
    name, value = (option["name"] or "").replace("-", "_"), option["value"]
    if name in IN_PYTHON:
        return IN_PYTHON[name]
    if name in _FLAGS:
        return f"{name}=True"
    if name not in SETTINGS and name not in ("store", "study"):
        return option[0]
    if value and not value[0].isdigit():
        value = repr(value.strip("'"))
    return f"{name}={value}" if value else name
