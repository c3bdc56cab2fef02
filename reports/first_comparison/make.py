"""Make this folder: run the comparison (what the store holds is reused), then the page and the picture.

    HARNESS_DATA=<raw folder> python reports/first_comparison/make.py

Needs the extra ``report``. Published figures: Bordes, Ertekin, Weston, Bottou 2005, Figures 7 and 8.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

FOLDER = Path(__file__).parent
SOLVERS = {"lasvm": "LASVM, one epoch", "lasvm[epochs=2]": "LASVM, two epochs", "fw": "Frank-Wolfe", "libsvm": "LIBSVM"}
COLOURS = dict(zip(SOLVERS, ("#0072B2", "#56B4E9", "#D55E00", "#444444"), strict=True))
STUDIES = {"waveform": "0-4", "banana": "0-4", "reuters": "0-4", "usps": "0-4", "adult": "0"}

# data set -> (error %, support vectors, million kernel values) of LIBSVM, then of LASVM after one epoch
PUBLISHED = {
    "waveform": ((8.82, 1006, 4.2), (8.68, 948, 2.2)),
    "banana": ((9.96, 873, 6.8), (9.98, 869, 6.7)),
    "reuters": ((2.76, 1493, 11.8), (2.76, 1504, 9.2)),
    "usps": ((0.41, 236, 1.97), (0.43, 201, 1.08)),
    "adult": ((14.90, 11327, 1760.0), (14.94, 11268, 626.0)),
}


def measured(solvers: str, dataset: str, seeds: str, cache_mb: int) -> pd.DataFrame:
    """Run (or reuse) one comparison and return its records."""
    command = [
        sys.executable, "-m", "harness.cli.main", "compare", "--plugins", solvers, "--datasets", dataset,
        "--seeds", seeds, "--time-limit", "600", "--cache-mb", str(cache_mb), "--format", "json",
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return pd.DataFrame(json.loads(done.stdout))


def all_records() -> pd.DataFrame:
    """Measure everything. Frank-Wolfe is deterministic (one seed) and keeps the rows of its whole core set."""
    others = ",".join(solver for solver in SOLVERS if solver != "fw")
    frames = []
    for dataset, seeds in STUDIES.items():
        frames += [measured(others, dataset, seeds, 256), measured("fw", dataset, "0", 6000)]
    return pd.concat(frames, ignore_index=True)


def table(frame: pd.DataFrame) -> str:
    """Return figure 8's table with ours beside it, as Markdown."""
    lines = [
        "| data set | solver | test error % | published | SV | published | kernel values (M) | published | seconds | relative gap |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for dataset, (libsvm, lasvm) in PUBLISHED.items():
        rows = frame[(frame.dataset == dataset) & frame.test_accuracy.notna()]
        for solver, published in (("libsvm", libsvm), ("lasvm", lasvm)):
            own = rows[rows.label == solver]
            if own.empty:
                continue
            count = (
                "not observable"
                if own.kernel_evaluations.isna().all()
                else f"{own.kernel_evaluations.mean() / 1e6:.3g}"
            )
            lines.append(
                f"| {dataset} | {SOLVERS[solver]} | {100 * (1 - own.test_accuracy.mean()):.2f} | {published[0]:.2f} "
                f"| {own.support_vectors.mean():.0f} | {published[1]} | {count} | {published[2]:g} "
                f"| {own.fit_seconds.median():.3g} | {own.relative_gap.median():.1e} |"
            )
    return "\n".join(lines)


def curve(axes: Any, record: pd.Series, figure: str, label: str | None) -> None:
    """Draw one run's trace; a run without intermediate figures is its last point."""
    points = [(point["seconds"], point[figure]) for point in record.trace if point.get(figure) is not None]
    if not points:
        return
    seconds, values = zip(*points, strict=True)
    if figure == "test_accuracy":
        values = tuple(100 * (1 - value) for value in values)
    style = {"color": COLOURS[record.label], "linewidth": 1.4, "markersize": 4}
    axes.plot(seconds, values, marker="o" if len(points) == 1 else None, **style, label=label)
    axes.plot(seconds[-1], values[-1], marker="o", **style)


def picture(frame: pd.DataFrame) -> None:
    """Draw relative gap and test error against time inside the solver, one column a data set."""
    datasets = [dataset for dataset in PUBLISHED if (frame.dataset == dataset).any()]
    figure, axes = plt.subplots(
        2, len(datasets), figsize=(2.9 * len(datasets), 5.6), layout="constrained", squeeze=False
    )
    for column, dataset in enumerate(datasets):
        for solver, name in SOLVERS.items():
            rows = frame[(frame.dataset == dataset) & (frame.label == solver) & (frame.seed == 0)]
            for _, record in rows.iterrows():
                curve(axes[0, column], record, "relative_gap", name)
                curve(axes[1, column], record, "test_accuracy", name)
        size = frame[frame.dataset == dataset].iloc[0]
        axes[0, column].set(title=f"{dataset} ({size.n_train:,} x {size.n_features:,})", xscale="log", yscale="log")
        axes[1, column].set(xscale="log", yscale="log", xlabel="seconds in the solver")
        axes[1, column].yaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
        axes[1, column].yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        errors = [100 * (1 - point["test_accuracy"]) for trace in frame[frame.dataset == dataset].trace for point in trace
                  if point.get("test_accuracy") is not None]  # fmt: skip
        low = max(0.05, min(errors))
        ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if low / 1.5 <= tick <= max(errors) * 1.5]
        axes[1, column].set_yticks(ticks)
    axes[0, 0].set_ylabel("relative gap, certified\n(each of its own formulation)")
    axes[1, 0].set_ylabel("test error, %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(SOLVERS), frameon=False)
    figure.savefig(FOLDER / "anytime.png", dpi=110)


PAGE = """# LASVM, Frank-Wolfe and LIBSVM on the data of Bordes et al. 2005

Made by `HARNESS_DATA=<raw folder> python reports/first_comparison/make.py` on {machine}, one thread, {day}.
Every run, with versions and settings, is in [results.csv](results.csv).

![Relative gap and test error against time](anytime.png)

Each curve is one run (seed 0); a dot is its end, LIBSVM shows nothing before it. A certificate in mid-run costs the host
n x support kernel values: on adult only the first points and the end have one, the line between them is drawn, not measured.
Frank-Wolfe solves the squared-hinge SVM with chi = C: its gap is a gap of that problem.

## Figure 8 of the paper, ours beside the published numbers

Means over seeds 0-4 (adult: seed 0); seconds and gaps are medians. LASVM makes one epoch and the finishing step.

{table}

## Where they differ, and why

* **Splits.** The paper's splits of banana and waveform are not published; ours are 4,000 training rows drawn with
  seed 0, so the test errors are of other test sets. LIBSVM's own error is off by a similar amount.
* **usps.** Our training set has 7,291 rows (the paper: 7,329) in [-1, 1]; the paper's gamma = 2 is read as one for
  features divided by 16 and becomes 2/256. Both solvers find about twice as many support vectors as published; we do not know why.
* **Kernel values.** Ours count every value computed, those of candidates fetched in blocks and not used included. LIBSVM
  computes its own out of the harness's sight, so its count is not observable.
* **Gaps.** One epoch is not the optimum: examples dropped early are not seen again. With C = 1000 (usps) even LIBSVM at
  its default tolerance leaves a large relative gap: C multiplies every margin violation that is left.
"""


def main() -> None:
    """Measure, then write results.csv, README.md and anytime.png."""
    frame = all_records()
    flat = frame.drop(columns=["trace", "machine", "info", "output", "metrics", "key"])
    flat.to_csv(FOLDER / "results.csv", index=False)
    page = PAGE.format(machine=frame.machine.iloc[0]["processor"], day=frame.measured_at.min()[:10], table=table(frame))
    (FOLDER / "README.md").write_text(page)
    picture(frame)


if __name__ == "__main__":
    main()
