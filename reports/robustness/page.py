"""The page reports/robustness/README.md, made of results.json and campaign.json beside it.

    python reports/robustness/page.py
    python reports/robustness/page.py --campaign FILE.jsonl     what reports/robustness/campaign.py --output wrote

The lines of a campaign, one a trial, are summed up in campaign.json, which is kept.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

from reports.kit.markdown import NOT_MEASURED, filled, table  # noqa: E402
from reports.kit.page import Page  # noqa: E402
from reports.robustness.faults import FAULTS, Fault  # noqa: E402
from reports.robustness.tools import FAILED, MEASURED, NAMES, SECONDS  # noqa: E402

FOLDER = ROOT / "reports" / "robustness"
HELD = "held"
_MUCH = 1_000_000  # bytes that the text of one fault may print or keep
_FAULTY = NAMES[1]
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+(?=[\w.+-])")


def complaints(fault: Fault, outcome: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with how a tool took a fault, a few words each; none if it held.

    facts : of the tool, as results.json has them: its ``patience`` and the faults against which it has ``no_option``
    """
    rows: Mapping[str, list[str]] = outcome["rows"] or {}
    found = [] if outcome["ended"] else [f"still running after {facts['patience']:g} s"]
    if fault.name in facts["no_option"]:
        return ["it has no such limit"]
    if outcome["note"].startswith("could not be tried"):
        return [outcome["note"]]
    found += {"run": _of_a_run, "pair": _of_a_pair, "kill": _of_a_kill, "full": _of_no_space, "damaged": _of_damage}[
        fault.way
    ](fault, outcome, rows)
    if outcome["left_processes"]:
        found.append(f"{_many(outcome['left_processes'], 'process', 'processes')} left")
    if outcome["left_files"]:
        found.append("left in " + ", ".join(_PLACES[name] for name in outcome["left_files"]))
    return found


_PLACES = {"left_cwd": "the working folder", "left_tmp": "TMPDIR", "left_shm": "/dev/shm"}


def _of_a_run(fault: Fault, outcome: Mapping[str, Any], rows: Mapping[str, list[str]]) -> list[str]:
    own, found = rows.get(_FAULTY, []), []
    if not own:
        found.append("no row, told on the screen" if outcome["told"] else "no row, nothing said")
    elif fault.says and not outcome["row_told"]:
        failed = any(said.startswith(FAILED) or said != MEASURED for said in own)
        reason = "the reason on the screen only" if outcome["told"] else "without the reason"
        found.append(f"failed row, {reason}" if failed else "measured as if nothing was")
    if fault.says and outcome["ended"] and outcome["exits"] == [0]:
        found.append("exit code 0")
    others = sum(MEASURED in rows.get(name, []) for name in NAMES if name != _FAULTY)
    if others < len(NAMES) - 1:
        found.append(f"{others} of the 2 others measured")
    if outcome["escapes"]:
        found.append("escapes reach the terminal")
    found += [
        f"{outcome[what] / 1e6:.0f} MB {what}" for what in ("printed", "kept") if outcome[what] > _MUCH
    ]  # fmt: skip
    return found


def _of_a_pair(_fault: Fault, outcome: Mapping[str, Any], rows: Mapping[str, list[str]]) -> list[str]:
    found = ["a traceback"] if outcome["traceback"] else []
    kept, calls = sum(map(len, rows.values())), sum(outcome["calls"].values())
    if outcome["ended"] and outcome["exits"] != [0, 0]:
        found.append(f"exit codes {outcome['exits'][0]} and {outcome['exits'][1]}")
    if kept < calls:
        found.append(f"{kept} of {calls} measurements kept")
    if calls > len(NAMES):
        found.append(f"{calls} runs for {len(NAMES)} benchmarks")
    return found


def _of_a_kill(_fault: Fault, outcome: Mapping[str, Any], rows: Mapping[str, list[str]]) -> list[str]:
    found = ["a traceback"] if outcome["traceback"] else []
    missing = [name for name in NAMES if MEASURED not in rows.get(name, [])]
    if missing:
        found.append(f"{len(missing)} of {len(NAMES)} missing in the end")
    if outcome["calls"][NAMES[0]] > 1:
        found.append("what was measured is lost")
    return found


def _of_no_space(_fault: Fault, outcome: Mapping[str, Any], _rows: Mapping[str, list[str]]) -> list[str]:
    found = ["a traceback"] if outcome["traceback"] else []
    if not outcome["told"]:
        found.append("does not say why")
    if outcome["ended"] and outcome["exits"] == [0]:
        found.append("exit code 0")
    return found


def _of_damage(_fault: Fault, outcome: Mapping[str, Any], rows: Mapping[str, list[str]]) -> list[str]:
    found = ["a traceback"] if outcome["traceback"] else []
    if not outcome["told"] and any(MEASURED not in rows.get(name, []) for name in NAMES):
        found.append("nothing said")
    whole = sum(MEASURED in rows.get(name, []) for name in NAMES[:2])
    if not whole:
        found.append("no other row is read")
    return found


def _many(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


# -- the sections ------------------------------------------------------------------------------------


def sections(results: Mapping[str, Any], campaign: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the parts of the page that are computed, by the names of their markers."""
    tools: Mapping[str, Mapping[str, Any]] = results["tools"]
    found = {(each["tool"], each["fault"]): each for each in results["outcomes"]}
    judged = {
        (tool, fault.name): complaints(fault, found[tool, fault.name], tools[tool])
        for tool in tools
        for fault in FAULTS
        if (tool, fault.name) in found
    }
    return {
        "machine": _machine(tools),
        "summary": _summary(tools, found, judged),
        "faults": _table(tools, found, judged),
        "scope": "\n".join(f"* {name}: {facts['scope']}" for name, facts in tools.items() if facts["scope"]),
        "campaign": _campaign(campaign),
    }


def _machine(tools: Mapping[str, Mapping[str, Any]]) -> str:
    facts = list(tools.values())
    days = sorted({each["measured_at"][:10] for each in facts})
    versions = ", ".join(f"{name} {each['version']}" for name, each in tools.items() if not name.endswith("-j 2"))
    last = facts[-1]["machine"]
    return (
        f"{last['processor']}, {last['cores']} cores, {last['memory_bytes'] / 2**30:.0f} GB, {last['system']}, "
        f"Python {last['python']}; {versions}. {' to '.join(dict.fromkeys((days[0], days[-1])))}. A time limit of {SECONDS} s "
        f"where a tool has one; ended from outside after {facts[0]['patience']:g} s."
    )


def _summary(
    tools: Mapping[str, Any],
    found: Mapping[tuple[str, str], Mapping[str, Any]],
    judged: Mapping[tuple[str, str], list[str]],
) -> str:
    """Return for each tool how many faults it held, and how many ended in the ways that cost most."""
    rows = []
    for tool in tools:
        own = {fault: wrong for (name, fault), wrong in judged.items() if name == tool}
        outcomes = [outcome for (name, _), outcome in found.items() if name == tool]
        hung = sum(not outcome["ended"] for outcome in outcomes)
        silent = sum(
            any(each.startswith(("no row, nothing", "measured as")) for each in wrong) for wrong in own.values()
        )
        stopped = sum(any("others" in each for each in wrong) for wrong in own.values())
        left = sum(bool(outcome["left_processes"] or outcome["left_files"]) for outcome in outcomes)
        held = sum(not wrong for wrong in own.values())
        rows.append([tool, f"{held} of {len(own)}", str(hung), str(silent), str(stopped), str(left)])
    return table(["", "held", "did not end", "nothing said", "others not measured", "something left"], rows)


def _table(
    tools: Mapping[str, Any],
    found: Mapping[tuple[str, str], Mapping[str, Any]],
    judged: Mapping[tuple[str, str], list[str]],
) -> str:
    def cell(tool: str, fault: str) -> str:
        if (tool, fault) not in found:
            return NOT_MEASURED
        return "; ".join(judged[tool, fault]).replace("|", "/") or f"**{HELD}**, {found[tool, fault]['seconds']:.0f} s"

    rows = [[fault.title, *(cell(tool, fault.name) for tool in tools)] for fault in FAULTS]
    return table(["the second benchmark ...", *tools], rows)


def _campaign(summary: Mapping[str, Any] | None) -> str:
    if summary is None:
        return NOT_MEASURED
    kinds = summary["kinds"]
    rows = [
        [kind, f"{each['trials']:,}", f"{each['violated']:,}", f"{each['slowest_beyond_limit']:+.1f} s"]
        for kind, each in kinds.items()
    ]
    trials, violated = (sum(each[name] for each in kinds.values()) for name in ("trials", "violated"))
    seeds = ", ".join(map(str, summary["seeds"]))
    said = [f"{trials:,} trials with seed {seeds}, {violated:,} of them with a violation."]
    said += ["", table(["kind", "trials", "violations", "slowest, beyond its limit"], rows)]
    if summary["violations"]:
        said += ["", *(f"* {each['trial']}: {each['verdict']}" for each in summary["violations"])]
    return "\n".join(said)


def summed_up(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of a campaign's trials: by kind how many, how many violations, the slowest beyond its limit."""
    kinds: dict[str, dict[str, Any]] = {}
    seeds: dict[Any, None] = {}
    violations = []
    for line in lines:
        beyond = round(line["seconds"] - line["limit"], 3)
        one = kinds.setdefault(line["kind"], {"trials": 0, "violated": 0, "slowest_beyond_limit": beyond})
        one["trials"] += 1
        one["slowest_beyond_limit"] = max(one["slowest_beyond_limit"], beyond)
        seeds[line["seed"]] = None
        if line["verdict"] != "ok":
            one["violated"] += 1
            words = " ".join("; ".join(dict.fromkeys(line["verdict"])).split())
            words = _FOLDERS.sub("", words)  # of the machine that it was measured on
            violations.append({"trial": line["trial"], "verdict": words[:300]})
    return {"seeds": list(seeds), "kinds": kinds, "violations": violations[:50]}


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return what results.json and campaign.json hold; None for a campaign that is not there."""
    campaign = folder / "campaign.json"
    return (
        json.loads((folder / "results.json").read_text()),
        json.loads(campaign.read_text()) if campaign.exists() else None,
    )


PAGE = Page(FOLDER, lambda: sections(*read(FOLDER)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaign", type=Path, metavar="FILE.jsonl", help="sum up this campaign first")
    given = parser.parse_args()
    if given.campaign:
        with given.campaign.open() as lines:
            summary = summed_up(json.loads(line) for line in lines if line.strip())
        (FOLDER / "campaign.json").write_text(json.dumps(summary, indent=1) + "\n")
    page = FOLDER / "README.md"
    page.write_text(filled(page.read_text(), PAGE.sections()))


if __name__ == "__main__":
    main()
