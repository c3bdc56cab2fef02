"""What the study is asked to show, held against the runs: met or missed, with figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reports.border_2007.figures import (
    average_ranks,
    breakeven,
    compared,
    efficiency,
    imbalance,
    percent,
    seconds,
    support_ratio,
)
from reports.border_2007.parts import AL, BATCH, FULL, SATURATION, SMOTE
from reports.kit.markdown import NOT_MEASURED, met
from reports.kit.results import Results, ratio
from reports.kit.signed_ranks import signed_ranks

POINT = 1.0  # of g-means, percent, that AL may be behind batch
BUT = 1  # sets on which it may be farther behind
LABELS = (7.0, 42.0)  # percent of the training points
WELL_BELOW = 0.5  # SV- / SV+ over the imbalance
SMALL_POOL = 4.0  # times as fast as the search through the whole pool
EQUAL = 0.5  # of PRBEP, percentage points
TWICE, TENFOLD = 2.0, 10.0  # as fast as SMOTE
FAST = ("mnist-8", "usps")
SIGNIFICANT = 0.01


def g_means(results: Results) -> Iterator[str]:
    """Tell whether g-means at the early stop is batch's but for a point, on all but one of the sets."""
    behind = {}
    for name in results.plan.sets:
        ours, whole = percent(results, name, AL, "g-means"), percent(results, name, BATCH, "g-means")
        if ours is not None and whole is not None:
            behind[name] = whole.mean - ours.mean
    if behind:
        far = {name: by for name, by in behind.items() if by > POINT}
        named = "".join(f"; {name} is {by:.2f} points behind" for name, by in far.items())
        yield (
            f"* g-means at the early stop within {POINT:g} point of batch, or above, on {len(behind) - len(far)} of "
            f"{len(behind)} sets (our mark: all but {BUT}) {met(len(far) <= BUT)}{named}."
        )


def labels(results: Results) -> Iterator[str]:
    """Tell whether so small a part of the labels is bought as the paper has it."""
    found = {name: spread.mean for name in results.plan.sets if (spread := efficiency(results, name)) is not None}
    if found:
        below, above = LABELS
        more = [f"{name} {share:.1f} %" for name, share in found.items() if round(share) > above]
        fewer = [f"{name} {share:.1f} %" for name, share in found.items() if round(share) < below]
        outside = "".join(
            f"; {word}: {', '.join(named)}" for word, named in (("more", more), ("fewer", fewer)) if named
        )
        yield (
            f"* Labels bought: {min(found.values()):.1f} to {max(found.values()):.1f} % of the training points "
            f"(our mark: {below:g} to {above:g} %) {met(not more and not fewer)}{outside}."
        )


def supports(results: Results) -> Iterator[str]:
    """Tell whether the support vectors are less imbalanced than the data."""
    found = {}
    for name in results.plan.sets:
        ours, data = support_ratio(results, name), imbalance(results, name)
        if ours is not None and data is not None:
            found[name] = float(ours.mean) / data  # of counts, which no machine changes
    if found:
        high = [f"{name} {share:.2f}" for name, share in found.items() if share > WELL_BELOW]
        yield (
            f"* SV- / SV+ over the imbalance of the data: {min(found.values()):.2f} to {max(found.values()):.2f} "
            f"(our mark: at most {WELL_BELOW:g}) {met(not high)}{'; ' if high else ''}{', '.join(high)}."
        )


def small_pool(results: Results) -> Iterator[str]:
    """Tell, for each set of Figure 2, how much faster the small pool is, and whether its PRBEP is the same."""
    for each in results.plan.figure2:
        name = f"{each}{SATURATION}"
        times = ratio(seconds(results, name, FULL), seconds(results, name, AL))
        pair = [percent(results, name, solver, "prbep") for solver in (AL, FULL)]
        if times is not None and pair[0] is not None and pair[1] is not None:
            apart = pair[0].mean - pair[1].mean
            yield (
                f"* {each}: the small pool {times:.1f} times as fast as the full search (our mark: {SMALL_POOL:g} at least) "
                f"{met(times >= SMALL_POOL)}, PRBEP {apart:+.2f} points (at most {EQUAL:g} apart) {met(abs(apart) <= EQUAL)}."
            )


def smote(results: Results) -> Iterator[str]:
    """Tell how much faster AL is than SMOTE."""
    found = {
        name: times
        for name in results.plan.sets
        if (times := ratio(seconds(results, name, SMOTE), seconds(results, name, AL))) is not None
    }
    if found:
        slow = [f"{name} {times:.1f}" for name, times in found.items() if times < TWICE]
        yield (
            f"* AL over SMOTE: {min(found.values()):.1f} to {max(found.values()):.1f} times as fast (our mark: "
            f"{TWICE:g} everywhere) {met(not slow)}{'; less: ' if slow else ''}{', '.join(slow)}."
        )
        for name in FAST:
            if name in found:
                yield (
                    f"* AL over SMOTE on {name}: {found[name]:.1f} times as fast (our mark: {TENFOLD:g}) "
                    f"{met(found[name] >= TENFOLD)}."
                )


def prbep(results: Results) -> Iterator[str]:
    """Tell AL's rank in PRBEP on average, and the test against undersampling."""
    names = compared(results)
    if not names:
        return
    average = average_ranks(results, names)
    place = 1 + sum(each < average["al"] for each in average.values())
    yield (
        f"* AL's rank in PRBEP is {average['al']:.2f} on average over {len(names)} sets, place {place} of {len(average)} "
        f"(our mark: first or second) {met(place <= 2)}."
    )
    p = signed_ranks(*([breakeven(results, name)[method] for name in names] for method in ("al", "us")))
    ahead = sum(breakeven(results, name)["al"] - breakeven(results, name)["us"] for name in names) > 0.0
    yield (
        f"* AL is {'ahead of' if ahead else 'not ahead of'} undersampling, signed ranks p = {p:.4f} (published: below "
        f"{SIGNIFICANT:g}) {met(ahead and p < SIGNIFICANT)}."
    )


CLAIMS: tuple[Callable[[Results], Iterator[str]], ...] = (g_means, labels, supports, small_pool, smote, prbep)


def lines(results: Results) -> str:
    """Return a line for each of our marks."""
    return "\n".join(line for claim in CLAIMS for line in claim(results)) or NOT_MEASURED
