"""What a study can say: the one table of the command's options, a call's keywords and the keys of a study file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.call import values
from harness.call.values import Reader

WHAT, PROBLEM, PATH, LIMITS, HOW = (
    "What to compare",
    "The problem",
    "A path of problems",
    "Limits of a run",
    "How to measure",
)


@dataclass(frozen=True)
class Setting:
    """One of them.

    section, help : of the command's help
    reader : of its text; None: it is true or false
    default : as text; none: it is left to the data and the solvers
    several : it is a list of texts, each of which may name several things
    """

    name: str
    section: str
    help: str
    reader: Reader | None = None
    default: str | None = None
    several: bool = False

    @property
    def usual(self) -> Any:
        """Its value where nobody gives one."""
        if self.default is None:
            return False if self.reader is None else [] if self.several else None
        return [self.default] if self.several else self.reader(self.default) if self.reader else False


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("plugins", WHAT, "Solvers or whole plugins, with parameters: lasvm,fw  'lasvm[epochs=[1,2]]'  'fw/*'. "
                "Required; repeatable.", values.TEXT, several=True),
        Setting("datasets", WHAT, "Data sets, with parameters, or paths of files: 'checkerboard[n=1000],./mine.csv'. Repeatable.",
                values.TEXT, "digits,breast-cancer", several=True),
        Setting("plugin_path", WHAT, "A plugin that is not installed: a .py file or a package folder. Repeatable.",
                Reader("FILE", str), several=True),
        Setting("formulation", PROBLEM, "c-svc  l2-svc,eps-svr  'ramp-svc[s=[-1,0]]'. [default: those that the solvers prefer]",
                values.TEXT),
        Setting("kernel", PROBLEM, "rbf  'rbf[gamma=[0.1,1]],linear'  'poly[degree=2]'. [default: the data set's]", values.TEXT),
        Setting("C", PROBLEM, "Price of a margin violation.", values.COSTS),
        Setting("epsilon", PROBLEM, "Half the width of the tube of regression, in units of y.", values.WIDTHS),
        Setting("nu", PROBLEM, "Largest share of outliers, and smallest share of support vectors.", values.SHARES),
        Setting("gamma", PROBLEM, "Kernel width, or 'scale': 1 / (d var(x)).", values.GAMMAS),
        Setting("path", PATH, "Go through a grid in one run: C,gamma  'C=2^-5..2^15:2^2,gamma=[0.1,1]'. C and gamma have usual "
                "values.", values.PATH),
        Setting("folds", PATH, "Choose among the cells by cross-validation with this number of folds.", values.FOLDS),
        Setting("cold", PATH, "Solve the same cells a second time, one by one, each from nothing."),
        Setting("target_gap", LIMITS, "Relative gap that every solver has to reach; costs are ranked only with it.",
                values.POSITIVE),
        Setting("time_limit", LIMITS, "Time in the solver: 90, 90s, 5m, 1h.", values.DURATION, "10m"),
        Setting("memory_limit", LIMITS, "Memory of a run, and of reading the data: 512M, 2G.", values.MEMORY),
        Setting("kernel_evaluation_limit", LIMITS, "Kernel evaluations of a run.", values.COUNT),
        Setting("iteration_limit", LIMITS, "Iterations of a run.", values.COUNT),
        Setting("seeds", HOW, "Seeds: 0,1,2 or 0-4.", values.SEEDS, "0"),
        Setting("repeat", HOW, "Repetitions with each seed.", values.COUNT, "1"),
        Setting("threads", HOW, "Threads of a run.", values.COUNT, "1"),
        Setting("jobs", HOW, "Runs at a time, on cores of their own.", values.COUNT, "1"),
        Setting("cache_mb", HOW, "Kernel cache of a run.", values.MEGABYTES, "256"),
        Setting("metrics", HOW, "Further test metrics: g-means,roc-auc.", values.NAMES),
        Setting("core_set_oracle", HOW, "Solve the core sets of hull formulations by it, and show margin(all) / margin(core set): "
                "qp, smo-block.", values.TEXT),
    )
}  # fmt: skip
