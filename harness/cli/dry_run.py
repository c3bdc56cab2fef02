"""``harness compare --dry-run``: how many runs there would be, how many are left to do, and how long these may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.run.plan import Study


def summary(study: Study, registry: Registry) -> str:
    """Return as text what a study would do; nothing is measured and nothing written.

    Raises
    ------
    UsageError, DataError : the request or its data make no runs; the store cannot be read.
    """
    from harness.call.request import notes
    from harness.report.output import MESSAGE_WIDTH, folded
    from harness.run.driver import Driver
    from harness.run.plan import factors
    from harness.run.repeats import MOST
    from harness.run.store import default_store

    driver = Driver(study, registry)
    every, todo = driver.specs, driver.to_do()
    product = " x ".join(f"{count:,} {noun}" for count, noun in factors(study, registry) if count != 1)
    limit = study.limits.time_limit
    most = "" if limit is None or not todo else f", at most {limit * len(todo) / study.jobs / 3600:,.3g} h"
    without = sum(bool(spec.skip_reason or spec.broken_reason) for spec in every)
    if study.part != (1, 1):
        product = f"part {'/'.join(map(str, study.part))} of {product or '1 run'}"
    text = (
        f"{len(every):,} run{'s' * (len(every) != 1)}{f': {product}' if product else ''}; nothing is carried out\n"
        f"{len(every) - len(todo) - without:,} of them in the store {study.store or default_store()}\n"
        + (f"{without:,} of them a row without a run: skipped, or of a broken plugin\n" if without else "")
        + f"{len(todo):,} to carry out{most}\n"
        + (f"each up to {MOST} times, until the fastest solvers are known\n" if study.repeat is None else "")
        + "".join(f"{note}\n" for note in notes(study, every, registry))
    )
    return folded(text, MESSAGE_WIDTH)
