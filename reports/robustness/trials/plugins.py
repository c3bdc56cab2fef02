"""Trials of bad plugins: one to three faults composed, compared beside good solvers."""

from __future__ import annotations

import random
from pathlib import Path

from harness.run import allowed
from harness.run.record import Status
from reports.robustness.trials import bad_plugin, judge
from reports.robustness.trials.misdeeds import DEEDS
from reports.robustness.trials.place import Pace, Place, Trial, Verdict

SHARE = 0.45
_IN_COMMAND = ("import", "hook", "post-init", "label")
_IN_WORKER = ("import-worker", "import-certifier", "worker")
_IN_RUN = ("warm-up", "first", "middle", "end", "close")
_PLACES = (*_IN_COMMAND, *_IN_WORKER, *_IN_RUN, *_IN_RUN, *_IN_RUN, "warm-ups", "skip", "exit-handler")
_YIELDS = (
    "nan", "short", "column", "object", "text", "none-coef", "broadcast", "infeasible", "intercept-nan", "intercept-text",
    "step-text", "step-huge", "core-list", "core-negative", "info-text", "info-hostile", "info-keys", "info-huge", "info-self",
    "dict", "not-done", "nothing", "many", "after-done",
)  # fmt: skip
_SPECIAL = (
    ("hook", "none"),
    ("hook", "rubbish"),
    ("hook", "twice"),
    ("label", "text"),
    ("skip", "text"),
    ("warm-ups", "many"),
)
_ONLY_IN_RUN = {"kill-parent", "stop-parent"}  # elsewhere the parent is the user's own command
# what a plugin does to the command's own process, whose code it may as well have replaced, nothing can undo; only the
# folder and the ends and hangs of that process are held up against it
_LEAVING = {name for name in DEEDS if name.startswith("leave-")}
_UNDOING = {name for name in DEEDS if name.startswith(("allocate", "close-", "change-")) and name != "change-folder"} | {
    "limits-of-its-own", "exhaust-descriptors", "empty-environment", "hostile-environment", "break-output", "set-hooks",
    "trace-everything", "write-to-all-descriptors", "spin-deaf", "adopt-and-hide", "become-true", "become-sleep",
}  # fmt: skip
_COMPILING = {"type-for-ever": allowed.one_compilation(1.0), "compile-again-and-again": 40.0}  # seconds
_COMPILED = ("warm-up", "warm-ups", "skip", "worker")
_IMPORT_FLOOR = 3.0  # seconds: what an import may take whatever the limit
_GRACE = 2.0
_STARTS_AGAIN = 0.6  # of a comparison's start: a fresh worker, or the command once more


def composed(rng: random.Random) -> list[tuple[str, str]]:
    """Return (where, what) of one to three faults."""
    found: list[tuple[str, str]] = []
    for _ in range(rng.choices((1, 2, 3), (6, 3, 1))[0]):
        kind = rng.random()
        if kind < 0.12:
            found.append(("yield", rng.choice(_YIELDS)))
        elif kind < 0.16:
            found.append(rng.choice(_SPECIAL))
        else:
            where = rng.choice(_PLACES)
            barred = _ONLY_IN_RUN if where not in _IN_RUN else set()
            barred = barred | (_LEAVING | _UNDOING if where in (*_IN_COMMAND, "exit-handler") else set())
            found.append((where, rng.choice(sorted(set(DEEDS) - barred))))
    if any(where == "exit-handler" for where, _ in found):
        found.append(("main", "exit-handler"))
    return found


def written(folder: Path, faults: list[tuple[str, str]]) -> Path:
    """Write the plugin that has these faults."""
    source = Path(bad_plugin.__file__).read_text(encoding="utf-8")
    line = "FAULTS: tuple[tuple[str, str], ...] = ()"
    assert line in source
    path = folder / "faulty.py"
    path.write_text(source.replace(line, f"FAULTS: tuple[tuple[str, str], ...] = {tuple(faults)!r}"), encoding="utf-8")
    return path


def run(trial: Trial, place: Place, pace: Pace, faults: list[tuple[str, str]] | None = None) -> Verdict:
    """Compare the bad solver, a good one of its file and one of the harness's own."""
    rng = trial.rng()
    faults = composed(rng) if faults is None else faults
    seconds, memory = rng.choice((1, 2, 3)), rng.choice(("600M", "800M", "1G"))
    seeds = rng.choices((1, 2), (3, 1))[0]
    plugin = written(place.given, faults)
    arguments = [
        "compare", "--plugin-path", str(plugin), "--plugins", "faulty,smo", "--formulation", "c-svc",
        "--datasets", "twonorm[n=60,n_test=20]", "--time-limit", str(seconds), "--memory-limit", memory,
        "--seeds", f"0-{seeds - 1}", "--store", str(place.store), "--format", "json",
    ]  # fmt: skip
    (place.given / "command.txt").write_text("harness " + " ".join(arguments) + "\n", encoding="utf-8")
    verdict = Verdict(", ".join(f"{what} at {where}" for where, what in faults) + f"; limit {seconds} s")
    quiet = _allowed(faults, seconds, seeds, pace)
    process = place.start(arguments)
    done = place.wait(process, lambda: 2.0 * (quiet[0] * place.load.factor + quiet[1]) + 20.0)
    verdict.seconds, verdict.limit = done.seconds, quiet[0] * done.load + quiet[1]
    found, wrong = judge.rows(done)
    verdict.violations += (
        judge.code(done) + judge.words(done, quoted=not wrong) + wrong + judge.in_time(done, verdict.limit)
    )
    if not wrong:
        on_terminal = any(what == "print-hostile" and where in (*_IN_COMMAND, "exit-handler") for where, what in faults)
        verdict.violations += (
            [] if on_terminal else judge.escapes(done)
        )  # what it writes to the command's own standard error
        verdict.violations += _judged_rows(found, seeds, faults)
        if done.code is not None:
            verdict.violations += judge.stored(
                place.store, _run, [_run(row) for row in found if row["status"] == Status.OK]
            )
    named = done.err + "".join(f"{row.get('faults')} {row.get('reason')}" for row in found)
    verdict.violations += judge.nothing_left(place, named)
    return verdict


def _run(row: dict[str, object]) -> tuple[object, ...]:
    return row["solver"], row["seed"]


def _judged_rows(found: list[dict[str, object]], seeds: int, faults: list[tuple[str, str]]) -> list[str]:
    asked = [("smo", seed) for seed in range(seeds)]
    registered = any(row.get("solver") in ("bad", "good") for row in found)
    good = {"smo"}
    if registered:  # the file could be loaded, so all that is in it was asked for
        spoiled = {where for where, _ in faults} & {"import-worker", "import-certifier", "exit-handler"}
        good |= set() if spoiled else {"good"}
        asked += [(solver, seed) for seed in range(seeds) for solver in ("bad", "good")]
    wrong = judge.one_row_each(found, asked, ("solver", "seed"))
    if len({row.get("solver") for row in found}) < 2:
        wrong.append("no row for the plugin that could not be loaded")
    return wrong + judge.good_rows(found, good)


def _allowed(faults: list[tuple[str, str]], limit: float, seeds: int, pace: Pace) -> tuple[float, float]:
    """Return the seconds of starting, which grow with the load, and those of the phases that faults may use up."""
    places = [where for where, _ in faults if where not in ("main",)]
    starting = pace.compare * (1.6 + _STARTS_AGAIN * len(places) * seeds)
    phases = 0.0
    for where, what in faults:
        if what in _COMPILING and where in _COMPILED:  # what is compiled before the measured run has bounds of its own
            phases += seeds * min(_COMPILING[what], allowed.compilation(limit))
    for where in dict.fromkeys(places):
        longest = max(limit, _IMPORT_FLOOR) if where.startswith(("import", "hook", "exit")) else limit
        times = 1 if where in _IN_COMMAND else seeds
        phases += times * (longest + _GRACE)
    return starting, phases
