"""What the rows say in a few sentences, each with its numbers and what is claimed of them as a mark."""

from __future__ import annotations

from statistics import mean

from reports.kit.markdown import NOT_MEASURED, met, number
from reports.kit.results import Results
from reports.kit.signed_ranks import holm, signed_ranks
from reports.rgd_tree_2015.parts import CLEAN, ratio_name, share_name
from reports.rgd_tree_2015.plan import CCCP, PATH, RAMP, RBF, RGD, SOFT, tree
from reports.rgd_tree_2015.selection import ALPHA, Choices
from reports.rgd_tree_2015.tables import FLAT, LARGEST, SAME, Spread, best_of, distances


def synthetic(results: Results) -> list[str]:
    """Figures 4(a) and 4(b), and what a soft margin makes of the same data."""
    plan, lines = results.plan, []
    trees = {share: Spread.of(results, share_name(share), tree(share)) for share in plan.shares}
    flat = [each.mean for each in trees.values() if each]
    grown = [each.mean for ratio in plan.ratios if (each := Spread.of(results, ratio_name(ratio), tree(plan.share)))]
    if flat and grown:
        lines.append(
            f"Figure 4(a) and 4(b): RGD errs on {max(flat):.2f} % at most, where the paper has about {FLAT} % "
            f"{met(max(flat) <= FLAT)}, and on {grown[0]:.3f} to {grown[-1]:.3f} % over D / rho, where the paper has 0.5 to "
            f"{LARGEST} % {met(max(grown) <= LARGEST)}. The data are presumably easier than the paper's: the hulls of the inliers "
            "are apart by construction."
        )
    best = {share: best_of(results, share_name(share), SOFT) for share in trees}
    soft = [found[1].mean <= each.mean for share, each in trees.items() if each and (found := best[share])]
    if soft:
        lines.append(
            f"The best soft margin, chosen on the test points, errs no more than RGD on {sum(soft)} of {len(soft)} shares."
        )
    return lines


def benchmarks(results: Results) -> list[str]:
    """Table 1 and Figure 4(d): ahead or behind, beyond chance, and whether the paper's errors are to be had."""
    choices, right, lines = Choices(results), Choices(results, CLEAN), []
    behind, words = [], {"better": [], "worse": []}  # type: tuple[list[str], dict[str, list[str]]]
    for name in choices.sets:
        base, ours = choices.baseline(name), choices.mean(name, RGD)
        if base is None or ours is None:
            continue
        behind += [name] if ours > base[1] else []
        against = [method for method in (SOFT, CCCP, PATH) if choices.paired(name, RGD, method)[0]]
        chances = holm([signed_ranks(*choices.paired(name, RGD, method)) for method in against])
        for method, chance in zip(against, chances, strict=True):
            if chance < ALPHA:
                first, second = (mean(errors) for errors in choices.paired(name, RGD, method))
                words["better" if first < second else "worse"].append(f"{method.name} on {name}")
    if choices.sets:
        lines.append(
            f"Figure 4(d): RGD is behind the best of soft margin, ramp-cccp and outlier-path on {len(behind)} of "
            f"{len(choices.sets)} sets; the paper has it ahead on eight of ten {met(2 * len(behind) < len(choices.sets))}. Beyond "
            f"chance it is better than {', '.join(words['better']) or 'none'}, and worse than {', '.join(words['worse']) or 'none'}."
        )
    below = []
    for name in right.sets:
        printed = results.published.get("table1", name, "rgd-tree", "error")
        errors = [error for method in (SOFT, RBF) if (error := right.mean(name, method)) is not None]
        if printed is not None and errors and printed < min(errors):
            below.append(f"{name} ({printed:g} against {min(errors):.2f} %)")
    if below:
        lines.append(
            f"The paper's errors of RGD are below what soft margins learn from the right labels of the same divisions on "
            f"{', '.join(below)}: no way to treat outliers explains that, another choice of draws, features or test points would."
        )
    return lines


def optima(results: Results) -> list[str]:
    """How often each heuristic ends at the global optimum of the ramp loss, and how far above it otherwise."""
    told = []
    for solver in RAMP:
        found = [each for name, _ in results.plan.small for each in distances(results, name, solver)]
        if found:
            hits = sum(each <= SAME for each in found)
            told.append(f"`{solver}` on {hits} of {len(found)} draws (at most {number(100.0 * max(found))} % above it)")
    return [f"The global optimum of the ramp loss is reached by {', '.join(told)}."] if told else []


def seen(results: Results) -> str:
    """Return all sentences, a line each."""
    lines = [*synthetic(results), *benchmarks(results), *optima(results)]
    return "\n".join(f"* {each}" for each in lines) or NOT_MEASURED
