"""What the study of Bordes, Ertekin, Weston, Bottou (2005) measures: the runs behind each figure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import harness
from harness.registry.discovery import load_registry
from reports.kit import rows
from reports.kit.settings import SETTINGS, Setting
from reports.kit.study import Block, Row, study_named

ONE, TWO, FIVE = "lasvm", "lasvm[epochs=2]", "lasvm[epochs=5]"
PRINTED = "lasvm[second_order_from=none,finisher=none]"  # pairs by the paper's rule, in the finishing step too
ONLINE = "lasvm[second_order_from=none,finishing=False]"
EACH = "lasvm[second_order_from=none,finisher=none,block=1]"  # one example at a time: only the printed algorithm's kernel values
LIBSVM, COUNTED, SMO = "libsvm", "libsvm-counted", "smo"
AVERAGED, AVERAGED_TEN = "averaged-perceptron", "averaged-perceptron[epochs=10]"
EXACT = "smo-block"

SMALL = ("waveform", "banana", "waveform-raetsch", "banana-raetsch", "reuters", "usps", "usps-n", "adult")
IMAGE = SETTINGS["mnist-8"]
CACHES = (8, 16, 32, 64, 128, 256, 512, 1024)
DELTAS = (1000.0, 100.0, 30.0, 10.0, 5.0, 3.0, 2.0, 1.0, 0.3, 0.1, 0.001)  # the last: as SimpleSVM, the optimum over S
WAYS = {
    "finishing=False,": "one epoch, no finishing", "": "one epoch and finishing", "epochs=2,": "two epochs and finishing",
}  # fmt: skip
CRITERIA = ("random", "gradient", "active", "autoactive")
ADULT_STOPS = (250, 500, 1000, 1500, 2000, 2500, 3500, 5000, 7500)
IMAGE_STOPS = (100, 200, 400, 800, 1200, 1600, 2400, 3200)  # with 4,800 a criterion looks at all clean images
SIZES = {
    "checkerboard": ("checkerboard[n={n},seed={{k}}]", (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
    "adult": ("adult-split[n={n},seed={{k}}]", (1000, 2000, 5000, 10_000, 20_000, 32_561)),
}
_BOTH = ["c-svc", "mistake-driven"]  # each solver solves one of them
TOGETHER: Mapping[str, Any] = {"formulation": _BOTH, "metrics": ["test-scores"], "time_limit": 3600.0}


def with_delta(way: str, delta: float) -> str:
    """Return LASVM as printed that repeats REPROCESS until delta < delta_max."""
    return f"lasvm[second_order_from=none,finisher=none,{way}delta_max={delta:g}]"


def stopped_at(criterion: str, stop: int) -> str:
    """Return LASVM with a selection of examples that ends its online iterations at so many support vectors."""
    return f"lasvm[{'' if criterion == 'random' else f'selection={criterion},'}max_support={stop}]"


def curve(criteria: Sequence[str], stops: Sequence[int]) -> list[str]:
    """Return the solvers whose runs are the points of the criteria's curves; RANDOM's last one is a whole epoch."""
    return [*(stopped_at(criterion, stop) for criterion in criteria for stop in stops), ONE]


def digits(part: str, numbers: Sequence[int], quick: bool) -> list[Setting]:
    """Return one digit against the rest, for each; ``part``: of the images, in brackets."""
    suffix = f"-of-{part.rpartition('=')[2]}" if part else ""
    image = replace(IMAGE, gamma=None if quick else IMAGE.gamma, protocol="10,000 of the 60,000 images" if part else "")
    source = "digits-in-order[digit={d}]" if quick else f"mnist[digit={{d}}{part}]"
    return [replace(image, name=f"mnist-{d}{suffix}", selection=source.format(d=d)) for d in numbers]


def noisy(share: float) -> Setting:
    """Return MNIST, 8 against the rest, with a share of the training labels flipped."""
    noise = "" if share == 0.1 else f",noise={share:g}"
    name = "mnist-8-noise" + ("" if share == 0.1 else f"-{100 * share:g}")
    return replace(IMAGE, name=name, selection=f"mnist-noise[noise_seed={{k}}{noise}]")


def plan(quick: bool) -> list[Block]:
    """Return the runs of every figure."""
    return [{"formulation": "c-svc", **block} for block in (_quick() if quick else _full())]


def _quick() -> Iterator[Block]:
    banana = SETTINGS["banana"].small()
    yield from banana.blocks("figure8", [ONE, TWO], 2, once=[LIBSVM])
    yield from banana.blocks("figure9", [ONLINE, PRINTED], 1)
    for setting in digits("", (3, 8), quick=True):
        yield from setting.blocks("figure4", [ONE, TWO, AVERAGED], 1, once=[LIBSVM], **TOGETHER)
    split = replace(SETTINGS["adult"].small(), name="adult-split")
    yield from split.blocks("figure11", curve(CRITERIA, (50, 150)), 1, once=[LIBSVM], runs=65)


def _full() -> Iterator[Block]:
    for name in SMALL:
        setting, runs = replace(SETTINGS[name], cache_mb=40.0), 5 if name in ("adult", "reuters") else 10
        printed = [] if name.endswith("raetsch") else [EACH]
        yield from setting.blocks("figure8", [ONE, TWO, *printed], runs, once=[LIBSVM, COUNTED, SMO])
        yield from setting.blocks("epochs", [FIVE], 3)
        if printed:
            yield from setting.blocks("figure9", [ONLINE, PRINTED], runs)
    forest = replace(SETTINGS["forest-100k"], cache_mb=512.0)
    yield from forest.blocks("figure8", [ONE, TWO], 1, once=[LIBSVM, COUNTED], time_limit=14_400.0)
    yield from forest.blocks("figure9", [ONLINE, PRINTED], 1, time_limit=7200.0)
    larger = replace(SETTINGS["forest-521k"], cache_mb=1250.0)
    yield from larger.blocks("figure8", ["lasvm[tau=0.01]"], 1, once=["libsvm-counted[tol=0.01]"], time_limit=14_400.0)
    banana = replace(SETTINGS["banana"], cache_mb=40.0)
    yield from banana.blocks("figure10", [with_delta(way, delta) for delta in DELTAS for way in WAYS], 10)
    for part in ("", ",n=10000"):
        for setting in digits(part, range(10), quick=False):
            yield from setting.blocks("figure4", [ONE, TWO, AVERAGED, AVERAGED_TEN], 1, once=[LIBSVM], **TOGETHER)
    for gamma in (0.005, 0.01, 0.02):  # which one is the paper's, see the search below
        for setting in digits("", range(10), quick=False):
            setting = replace(setting, name=f"{setting.name}-gamma-{gamma:g}", gamma=gamma)
            yield from setting.blocks("figure4", [EXACT], 1, **TOGETHER)
    cached = {name: [f"{name}[cache_mb={cache}]" for cache in CACHES] for name in (ONE, LIBSVM)}
    for setting in digits(",n=10000", range(10), quick=False):
        yield from setting.blocks("figure6", cached[ONE], 1, once=cached[LIBSVM])
    split = Setting("adult-split", "adult-split[seed={k}]")
    yield from split.blocks("figure11", curve(CRITERIA, ADULT_STOPS), 10, once=[LIBSVM], runs=65)
    yield from IMAGE.blocks("figure13", curve(CRITERIA[:3], IMAGE_STOPS), 5, once=[LIBSVM], runs=5)
    stops = (*IMAGE_STOPS, 4800)
    yield from noisy(0.1).blocks("figure14", curve(CRITERIA[:3], stops), 5, runs=5, time_limit=3600.0)
    yield from noisy(0.1).blocks("figure14", [], 1, once=[LIBSVM], time_limit=7200.0)
    for share in (0.05, 0.2):
        solvers = curve(("random", "active"), stops)[:-1]
        yield from noisy(share).blocks("figure15", solvers, 5, protocol="shares that the paper's text does not name")
    for name, (selection, sizes) in SIZES.items():
        for n in sizes:
            setting = Setting(f"{name}-of-{n}", selection.format(n=n), cache_mb=1024.0)
            yield from setting.blocks("scaling", [ONE], 3 if n <= 100_000 else 1)
    yield from searched()


# -- which settings are the paper's ------------------------------------------------------------------------

_FOREST, _USPS = "covtype[n={{n}},n_test=20000{more}]", "usps[split_seed={{k}}{more}{noise}]"
_NOISE = ",noise=0.1,noise_seed={k}"
_FEATURES: Mapping[str, tuple[str, Sequence[float]]] = {
    "forest-100k: in [0, 1]": (_FOREST.format(more=""), (1, 4, 16, 64)),
    "forest-100k: standardised": (_FOREST.format(more=",scale=standard"), (0.25, 1, 4)),
    "forest-100k: ten numeric ones standardised": (
        f"rescaled[of={_FOREST.format(more='')},how=numeric]", (0.25, 1, 4),
    ),
    "forest-100k: standardised, points of unit length": (
        f"rescaled[of={_FOREST.format(more=',scale=standard')},how=unit]", (1, 4),
    ),
    **{
        f"usps{kind}: drawn{f', smoothed by {width:g}' if width else ''}": (
            _USPS.format(more=f",smooth={width:g}" if width else "", noise=noise), gammas,
        )
        for kind, noise in (("", ""), ("-n", _NOISE))
        for width, gammas in {
            0.0: (2 / 256, 2 / 512, 2 / 1024, 2 / 2048), 0.5: (2 / 256, 2 / 512), 0.75: (2 / 256, 2 / 512), 1.0: (2 / 256,)
        }.items()
    },
    "usps: published division": ("usps", (2 / 256, 2 / 1024)),
    "usps-n: published division": ("usps[noise=0.1,noise_seed={k}]", (2 / 256, 2 / 1024)),
    "reuters: unit length": ("reuters", (0.5, 1, 2)),
}  # fmt: skip
_C = {"forest-100k": 3.0, "usps": 1000.0, "usps-n": 10.0}


def searched() -> Iterator[Block]:
    """Yield the ways to scale the features and the widths that are tried for each set: the exact solution, LASVM as printed."""
    for title, (selection, gammas) in _FEATURES.items():
        name = title.partition(":")[0]
        forest = name == "forest-100k"
        for gamma, n in itertools.product(gammas, ("25000", "100000") if forest else ("",)):
            cache = 1024.0 if forest else 40.0
            setting = Setting(title, selection.replace("{n}", n), _C.get(name), gamma, cache_mb=cache)
            solvers = [EXACT] if forest else [EXACT, EACH]
            yield from setting.blocks("settings", solvers, 3 if "{k}" in selection else 1)


# -- the ten classifiers decide together -------------------------------------------------------------------


def combined_errors(quick: bool) -> Iterator[Row]:
    """Yield the error and the CPU time of the classifiers of figure 4 that decide together: the greatest score wins.

    The runs are the plan's, and come from the store; what it does not hold is measured.
    """
    blocks = [block for block in plan(quick) if block["figure"] == "figure4"]
    plugins = study_named("lasvm-2005").plugin_paths
    for suffix in dict.fromkeys(str(block["set"])[len("mnist-8") :] for block in blocks):
        group = [block for block in blocks if str(block["set"])[len("mnist-8") :] == suffix]
        options = {name: value for name, value in group[0].items() if name not in _NOT_OPTIONS}
        result = harness.compare(
            ",".join(group[0]["plugins"]), [block["datasets"][0] for block in group], plugin_path=plugins, quiet=True,
            store=harness.default_store().with_name("papers.sqlite"), **options,
        )  # fmt: skip
        sources = [load_registry(plugins).select_datasets(block["datasets"][0])[0] for block in group]
        labels = np.stack([source.load().y_test for source in sources])
        for solver in group[0]["plugins"]:
            records = [
                each for each in result.records if (each["label"], each["status"]) == (solver, harness.Status.OK)
            ]
            if len(records) < len(group):
                continue
            scores = {record["dataset"]: record["metrics"]["test-scores"] for record in records}
            error = multiclass_error(labels, np.stack([scores[source.label] for source in sources]))
            named = {"set": f"mnist{suffix}", "solver": solver, "seed": 0, "protocol": group[0]["protocol"]}
            yield {**named, "quantity": "error", "value": error}
            values = [row for record in records for row in rows.quantities({**record, "trace": None})]
            yield {**named, "quantity": "cpu", "value": sum(value for name, _, value in values if name == "cpu")}


_NOT_OPTIONS = ("figure", "set", "plugins", "datasets", "protocol", "runs")


def multiclass_error(labels: Any, scores: Any) -> float:
    """Return the percentage of points whose greatest score is not their class's; points without a class are left out.

    labels, scores : (k, n), of each classifier
    """
    known = np.max(labels, axis=0) > 0
    return float(100.0 * np.mean(np.argmax(scores, axis=0)[known] != np.argmax(labels, axis=0)[known]))
