"""What ``harness reproduce`` says of the studies: their parts, what these take, and which data they need.

python -m reports.kit.listing reproduced    # keep in reports/quick_minutes.csv what the quick runs of that folder took
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from harness.datasets.catalogue import REAL, raw_root
from reports.kit.course import earlier, runs_of
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.kit.study import ROOT, Study

QUICK_MINUTES = ROOT / "quick_minutes.csv"
_ENDS = r"(?![\w.])"
_NAMES = re.compile("|".join(re.escape(each) + _ENDS for each in sorted((s.name for s in REAL), key=len, reverse=True)))


def needed(selections: Iterable[str]) -> list[str]:
    """Return the sets of ``HARNESS_DATA`` that these selections read, sorted."""
    return sorted({name for text in selections for name in _NAMES.findall(text)})


def there(name: str) -> bool:
    """Return whether the raw files of a set lie where they are looked for."""
    (source,) = [each for each in REAL if each.name == name]
    return all((raw_root() / file).is_file() for file in source().raw_files())


def stand_ins(plan: Any) -> dict[str, str]:
    """Return the paper's sets that a plan has others for, with what these are: whatever in it says ``stands_for``."""
    if isinstance(plan, dict):
        return {name: text for each in plan.values() for name, text in stand_ins(each).items()}
    if isinstance(plan, (list, tuple)):
        return {name: text for each in plan for name, text in stand_ins(each).items()}
    if not is_dataclass(plan):
        return {}
    own = {}
    if getattr(plan, "stands_for", ""):  # a selection that is filled in twice has its last braces doubled
        own = {plan.stands_for: plan.selection.replace("{{", "{").replace("}}", "}")}
    return own | {name: text for each in fields(plan) for name, text in stand_ins(getattr(plan, each.name)).items()}


def studies(every: Iterable[Study]) -> str:
    """Return a line for each study."""
    lines = [f"{'study':22} parts  {'--quick':13}{'--full':18} paper"]
    for study in every:
        names = tuple(study.parts(study.plan))
        quick = "none yet" if study.quick is None else _quick(study, tuple(study.parts(study.quick)))
        lines.append(f"{study.name:22} {len(names):>5}  {quick:13}{_full(study, names):18} {study.title}")
    lines += [
        "",
        "CPU minutes inside the solvers, as they were measured; of the runs behind a + nothing is known.",
        "harness reproduce STUDY lists its parts and the data they need.",
    ]
    return "\n".join(lines)


def parts(every: Sequence[Study]) -> str:
    """Return the parts of studies, a line each, with the data that are not there."""
    lines = []
    for study in every:
        lines += [*([""] if lines else []), study.title]
        for name in study.parts(study.plan):
            sets = needed(_selections(study, study.plan, name))
            missing = [each for each in sets if not there(each)]
            told = f"{', '.join(sets) or 'no data to fetch'}" + (
                f"; not there: {', '.join(missing)}" if missing else ""
            )
            quick = _quick(study, (name,)) if study.quick and name in study.parts(study.quick) else "none yet"
            lines.append(f"  {name:14} --quick {quick:13}--full {_full(study, (name,)):18} {told}")
        for name, selection in sorted(stand_ins(study.quick).items()):
            lines.append(f"  --quick: {selection} stands for {name}")
    return "\n".join(lines)


def _selections(study: Study, plan: Any, name: str) -> list[str]:
    options = Options(measured=read_rows(study.folder / "results.jsonl"))
    return [dataset for grid in study.parts(plan)[name](options) for dataset in grid.datasets]


def _full(study: Study, names: Sequence[str]) -> str:
    """Return the CPU minutes of the whole plan by the repository's runs, and how many runs have none."""
    rows = read_rows(study.folder / "results.jsonl")
    runs, known = runs_of(study.parts(study.plan), names, Options(measured=rows)), earlier(rows, "cpu")
    unknown = sum(run not in known for run in runs)
    return _minutes(sum(known.get(run, 0.0) for run in runs) / 60.0) + (f" + {unknown} runs" if unknown else "")


def _quick(study: Study, names: Sequence[str]) -> str:
    """Return the minutes of the quick plan, as they were measured."""
    took = quick_minutes().get(study.name, {})
    if any(name not in took for name in names):
        return "not measured"
    return _minutes(sum(took[name] for name in names))


def quick_minutes() -> dict[str, dict[str, float]]:
    """Return what the parts of the quick plans took: study -> part -> minutes on two cores, all that a run needs included."""
    found: dict[str, dict[str, float]] = {}
    if QUICK_MINUTES.exists():
        with QUICK_MINUTES.open(newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["study"], {})[row["part"]] = float(row["minutes"])
    return found


def keep_quick_minutes(folder: Path) -> None:
    """Write what the runs of FOLDER/STUDY-quick took into the repository, in place of what it had of these parts."""
    found = quick_minutes()
    for journal in sorted(folder.glob("*-quick/results.jsonl")):
        for row in read_rows(journal):
            if row.get("part") == "took":
                found.setdefault(journal.parent.name.removesuffix("-quick"), {})[row["name"]] = row["seconds"] / 60.0
    with QUICK_MINUTES.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["study", "part", "minutes"])
        writer.writerows(
            (study, part, f"{each:.2f}") for study, of in sorted(found.items()) for part, each in of.items()
        )


def _minutes(value: float) -> str:
    return f"{value:.0f} min" if value >= 9.5 else f"{value:.1f} min"


if __name__ == "__main__":
    keep_quick_minutes(Path(sys.argv[1]))
