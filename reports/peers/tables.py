"""The report's tables, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from harness import Status
from reports.kit.averages import geometric_mean, slope
from reports.kit.measured import NOT_IN_TURNS
from reports.peers.results import Cell, Results, published_counts
from reports.peers.suite import FLOAT32, GAP_TARGET, PEERS, SCALING

NAMES = {peer.label: peer.name for peer in PEERS} | {"sklearnex": "oneDAL float64"}
# what this project set itself: (label, threads) -> (geometric mean, least of any set) of time over ours, certified
TARGETS = {
    ("sklearnex", 1): (6.0, 2.0),
    (FLOAT32, 1): (3.0, 1.0),
    ("libsvm", 1): (10.0, None),
    ("thundersvm", 1): (10.0, None),
    ("sklearnex", 2): (5.0, None),
}
LIMIT_TARGET, COUNT_TARGET, WARM_TARGET, MEMORY_TARGET_MB, CALL_TARGET_MS = 4.0, 1.15, 0.6, 200.0, 1.0


def sections(results: Results) -> dict[str, str]:
    """Return the text of each section by the name of its marker."""
    return {
        "machine": machine(results),
        "seen": seen(results),
        "certified": certified(results),
        "default": default(results),
        "limits": limits(results),
        "scaling": scaling(results),
        "probes": probes(results),
    }


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown; all columns but the first are set to the right."""
    head = list(head)
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *[list(row) for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def seen(results: Results) -> str:
    """Say who is the fastest, and what float32 and the default stopping leave."""
    lines = []
    for threads in results.threads:
        peers = results.peers(threads)
        found = {
            name: [(ratio[0], NAMES[label]) for label in peers if (ratio := results.headline(name, label, threads))]
            for name in results.sets
        }
        least = {name: min(ratios) for name, ratios in found.items() if ratios}
        if not least:
            continue
        first = sum(ratio > 1.0 for ratio, _ in least.values())
        close = ", ".join(
            f"{name} {ratio:.3g} ({peer})" for name, (ratio, peer) in sorted(least.items(), key=lambda i: i[1])[:3]
        )
        lines.append(
            f"* {threads} thread{'s' if threads > 1 else ''}: `{results.ours}` reaches the certified quality first on {first} of "
            f"{len(least)} sets. The nearest peers take, times as long: {close}."
        )
    threads, every = (
        results.threads[0],
        [(name, label) for name in results.sets for label in results.peers(results.threads[0])],
    )
    left = {
        (name, label): cell.row
        for name, label in [*every, *((name, results.ours) for name in results.sets)]
        if (cell := results.default(name, label, threads)) is not None and cell.row["status"] == Status.OK
    }
    single = {name: row["kkt_violation"] for (name, label), row in left.items() if label == FLOAT32}
    if single:
        worst = max(single, key=lambda name: single[name])
        lines.append(
            f"* oneDAL float32, asked for a violation of 1e-3, leaves one of up to {single[worst]:.1g} ({worst})."
        )
    gaps = {place: row["relative_gap"] for place, row in left.items() if place[1] != FLOAT32}
    if gaps:
        name, label = max(gaps, key=lambda place: gaps[place])
        left_by = f"{name}, {NAMES.get(label, label)}"
        lines.append(
            f"* At a violation of 1e-3 alone, the default of all, gaps of up to {gaps[name, label]:.1g} are left ({left_by})."
        )
    return "\n".join(lines)


def machine(results: Results) -> str:
    """Say where, when and with what the rows were measured, and how."""
    return (
        f"{measured(results)}\n\n"
        "Each run is a process of its own, the solvers take turns on each set, compilation and the conversion to a "
        "library's own data format are outside the time. **One thread: CPU seconds; more threads: wall seconds.** Medians; "
        "the spread is in [summary.csv](summary.csv), every run in [results.jsonl](results.jsonl). Cache 256 MB for "
        "everyone who has one. KKT violation and relative gap are the harness's own, in float64 over all training points."
    )


def measured(results: Results) -> str:
    """Say on what machine, with what libraries, when and by which commands the rows were measured."""
    first, last = results.headers[0], results.headers[-1]
    found, versions = first["machine"], first["versions"]
    cores = max(row["machine"]["usable_cores"] for row in results.headers)
    cells = [row["load_average"] for row in results.rows if row.get("load_average") is not None]
    wanted = (
        "python",
        "numpy",
        "scipy",
        "numba",
        "scikit-learn",
        "scikit-learn-intelex",
        "libsvm-official",
        "thundersvm-cpu",
    )
    libraries = ", ".join(f"{name} {versions[name]}" for name in wanted if name in versions)
    commands = "\n".join(f"    {command}" for command in dict.fromkeys(row["command"] for row in results.headers))
    days = " to ".join(dict.fromkeys((first["measured_at"][:10], last["measured_at"][:10])))
    return (
        f"{found['processor']}, {cores} cores, {found['memory_bytes'] / 2**30:.0f} GB, {found['system']}, "
        f"BLAS {found['blas']}; {libraries}. Measured {days}, load average {min(cells):.1f} to {max(cells):.1f}, by\n\n"
        f"{commands}"
    )


def _seconds(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.seconds is None:
        return f"> {cell.bound:.3g}" if cell.bound else cell.row["status"]
    spread = f" ({cell.low:.3g}-{cell.high:.3g})" if cell.runs > 1 and cell.high > 1.1 * cell.low else ""
    return f"{cell.seconds:.3g}{spread}"


def _ratio(found: tuple[float, bool] | None) -> str:
    return "" if found is None else f"{'> ' if found[1] else ''}{found[0]:.3g}"


def _cell(results: Results, name: str, label: str, threads: int) -> str:
    found = results.headline(name, label, threads)
    return results.remark(name, label, threads) if found is None else _ratio(found)


def _means(results: Results, threads: int) -> list[list[str]]:
    """Return the rows under a table of ratios: geometric mean, least and target of each peer."""
    mean, least, target = ["**geometric mean**", ""], ["**least**", ""], ["target", ""]
    for label in results.peers(threads):
        found = [ratio for name in results.sets if (ratio := results.headline(name, label, threads)) is not None]
        bound = any(each[1] for each in found)
        average = geometric_mean(each[0] for each in found)
        mean.append("" if average is None else f"**{'>= ' if bound else ''}{average:.3g}** of {len(found)}")
        least.append(_ratio(min(found, default=None)))
        goal = TARGETS.get((label, threads))
        target.append("" if goal is None else f"{goal[0]:g}" + (f", least {goal[1]:g}" if goal[1] else ""))
    return [mean, least, target]


def certified(results: Results) -> str:
    """The main table: our seconds, and how many times longer each peer takes to the same certified quality."""
    intro = (
        "Seconds of ours, and time over ours of each library: both until the harness certifies a KKT violation of 1.0e-3 "
        f"and a relative gap of {GAP_TARGET:g}. A black box's tolerance is tightened (1e-3, 3e-4, 1e-4, ...) until it is "
        "certified, and the first run that is counts alone. '> x': stopped, far slower already before it gets there, or "
        "ceasing to change; then x is from its last run. 'stopped': killed at a limit of wall "
        "time, its CPU seconds were not kept. oneDAL float32 rarely gets there: its column is its default "
        "stopping, whatever quality that reaches, over ours certified."
    )
    parts = [intro]
    for threads in results.threads:
        peers = results.peers(threads)
        shown = [NAMES[label] + (", any quality" if label == FLOAT32 else "") for label in peers]
        head = ["set (n x d)", f"{results.ours}, s", *shown]
        rows = []
        for name in results.sets:
            mine = results.certified(name, results.ours, threads)
            if mine is None:
                continue
            size = f"{name} ({mine.row['n']:,} x {mine.row['d']:,})"
            rows.append([size, _seconds(mine), *(_cell(results, name, label, threads) for label in peers)])
        parts.append(
            f"**{threads} thread{'s' if threads > 1 else ''}**\n\n" + table(head, rows + _means(results, threads))
        )
    return "\n\n".join(parts)


def default(results: Results) -> str:
    """Everything that is measured of each solver at its own default stopping, one thread."""
    rows = []
    threads = results.threads[0]
    for name in results.sets:
        for label in (results.ours, *results.peers(threads)):
            cell = results.default(name, label, threads)
            if cell is None:
                continue
            row = cell.row
            known = row["status"] == Status.OK
            rows.append(
                [
                    name,
                    NAMES.get(label, label),
                    _seconds(cell),
                    f"{row['kkt_violation']:.1e}" if known else "",
                    f"{row['relative_gap']:.1e}" if known else "",
                    f"{row['support_vectors']:,}" if known else "",
                    f"{100 * row['test_error']:.2f}" if known and row["test_error"] is not None else "",
                    f"{row['kernel_evaluations']:.3g}" if known and row["kernel_evaluations"] is not None else "-",
                    f"{row['peak_rss_bytes'] / 2**20:.0f}" if row["peak_rss_bytes"] else "",
                ]
            )
    head = ["set", "solver", "seconds", "KKT", "rel gap", "SV", "test error %", "kernel values", "peak MB"]
    return f"{threads} thread, tolerance 1e-3. '-': not observable.\n\n" + table(head, rows)


def limits(results: Results) -> str:
    """Our time over the time of the needed kernel values, and our kernel values over LIBSVM's published counts."""
    counts = published_counts()
    rows, over, shares = [], [], []
    names = list(dict.fromkeys([*results.sets, *(row["set"] for row in results.rows if row["set"] in counts)]))
    for name in names:
        probes, share = results.probe("limits", name), ""
        cell = results.certified(name, results.ours, 1)
        if cell is None:
            continue
        done = cell.row["kernel_evaluations"]
        if name in counts and done:
            shares.append(done / float(counts[name]["kernel_evaluations"]))
            share = f"{shares[-1]:.2f}" + {"yes": ""}.get(counts[name]["same_data"], f" ({counts[name]['same_data']})")
        factor = results.over_limit(name)  # both of one command, or not told
        if factor is not None:
            over.append(factor)
        info = probes[-1]["info"] if probes else {}
        rows.append(
            [
                name,
                f"{info['support']:,} ({info['free']:,})" if info else "",
                f"{info['rate'] / 1e9:.3g}" if info else "",
                f"{info['limit_seconds']:.3g}" if info else "",
                _seconds(cell),
                f"{factor:.2f}" if factor is not None else NOT_IN_TURNS if probes and cell.seconds else "",
                "" if done is None else f"{done:.3g}",
                share,
            ]
        )
    means = (geometric_mean(over), geometric_mean(shares))
    shown = ["" if mean is None else f"**{mean:.2f}**" for mean in means]
    rows.append(["**geometric mean**", "", "", "", "", shown[0], "", shown[1]])
    rows.append(["target", "", "", "", "", f"{LIMIT_TARGET:g}", "", f"{COUNT_TARGET:g}"])
    head = [
        "set",
        "SV (free)",
        "G values/s",
        "limit, s",
        "ours, s",
        "ours / limit",
        "kernel values",
        "over LIBSVM's count",
    ]
    return (
        "The limit is the time of (free SV + SV) x n kernel values at the rate at which this machine computes them in "
        "float32, measured in the same session. LIBSVM's counts were published for the same C and gamma: on the same "
        "points, on another draw of them (draw), or on another variant of the set (other).\n\n" + table(head, rows)
    )


def scaling(results: Results) -> str:
    """The exponents of the time in n."""
    rows = []
    for family in SCALING:
        line = [family]
        for label in (results.ours, "libsvm"):
            points = results.scaling_points(family, label)
            power = slope(points)
            line.append("" if power is None else f"{power:.2f} (n = {points[0][0]:,} to {points[-1][0]:,})")
        rows.append(line)
    head = ["subsets of", f"{results.ours}: p in time ~ n^p", "scikit-learn SVC"]
    return "CPU seconds at default stopping, one thread; least squares in logarithms.\n\n" + table(head, rows)


def probes(results: Results) -> str:
    """Peak memory on all of covtype, the warm start, and what a call as an oracle costs."""
    lines = []
    for row in results.probe("memory", "covtype-581012"):
        info = row["info"]
        beyond, mega = info["peak_bytes"] - info["data_bytes"], 2**20
        size = f"* covtype, n = {row['n']:,}, data {info['data_bytes'] / mega:.0f} MB: "
        if not info["yields"]:
            lines.append(f"{size}the process alone, no solver run, holds {beyond / mega:.0f} MB beyond the data.")
            continue
        own = info["peak_bytes"] - info["resident_before_bytes"]
        lines.append(
            f"{size}{results.ours} for {info['seconds']:.0f} s with a cache of {info['cache_bytes'] / mega:.0f} MB has its peak "
            f"{(beyond - info['cache_bytes']) / mega:.0f} MB beyond data and cache (target: at most {MEMORY_TARGET_MB:g} MB), "
            f"{(own - info['cache_bytes']) / mega:.0f} MB beyond what the process held before and the cache."
        )
    for name in results.sets:
        for row in results.probe("warm", name):
            info = row["info"]
            share = info["warm_cpu_seconds"] / info["cold_cpu_seconds"]
            values = info["warm_kernel_evaluations"] / max(1, info["cold_kernel_evaluations"])
            lines.append(
                f"* {name}: 2 C from the solution at C takes {info['warm_cpu_seconds']:.3g} CPU s, from nothing "
                f"{info['cold_cpu_seconds']:.3g} CPU s: {100 * share:.0f} % of the time (target: at most "
                f"{100 * WARM_TARGET:.0f} %) and {100 * values:.0f} % of the kernel values; they end at a KKT violation "
                f"of {info['warm_kkt']:.1e} and {info['cold_kkt']:.1e}."
            )
        lines += [_calls(name, results.ours, row["info"]) for row in results.probe("calls", name)]
    return "\n".join(lines) if lines else "Not measured."


def _calls(name: str, ours: str, info: dict[str, float]) -> str:
    sizes = sorted(int(key.removeprefix("call_")) for key in info if key.startswith("call_"))
    parts = [
        f"{info[f'call_{n}'] * 1e3:.2g} ms on {n:,} points, {info[f'overhead_{n}'] * 1e3:.2g} ms of it not for scores"
        for n in sizes
    ]
    return (
        f"* {name}: a call of {ours} on some of the points, from their solution, takes {'; '.join(parts)} "
        f"(target: at most {CALL_TARGET_MS:g} ms of overhead)."
    )
