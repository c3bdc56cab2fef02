"""``harness results export`` and ``harness verify``: results as a bundle, and the verification of one on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness.cli import options, where
from harness.report.output import results_alone, say, show
from harness.support.errors import UsageError

_EXPORT_HELP = """\
Write the runs of the store into one zip file, which others can verify.

It has the records, the versions, the hashes of code and data, what was compared, and the models of runs of
`harness compare --keep-models`. It has no data. The same runs make the same bytes.

\b
  harness compare --plugins smo,libsvm --keep-models
  harness results export --bundle study.zip
  harness verify study.zip
"""
_HELP = """\
Verify a bundle that `harness results export --bundle` wrote.

Each problem is stated again from the data of this machine, and each certificate, score and count is computed again from the
stored model. A line a row says what agrees within the rounding of the certificate. Nothing of the bundle is executed.

\b
  harness verify study.zip
  harness verify study.zip --data ./files-of-the-study

Exit codes: 0 all that could be verified agree, 1 something differs or nothing could be verified, 2 the bundle cannot be read.
"""


@click.command("export", help=_EXPORT_HELP, short_help="Write runs and models as a bundle that others can verify.")
@click.option("--bundle", required=True, metavar="FILE", type=click.Path(), help="The zip file to write.")
@where.selecting_runs
def export(bundle: str, **given: Any) -> None:
    """Write a bundle, and say what is in it."""
    from harness.call import request
    from harness.report.output import checked_file, deliver
    from harness.run.bundle import write
    from harness.run.store import StoreReader

    target = checked_file(bundle, "--bundle", "study.zip")
    if given["plugin_path"]:
        request.loaded(given["plugin_path"])
    with StoreReader(given["store"]) as store:
        numbers, _ = where.newest_rows(store, given)
        if not numbers:
            raise UsageError(where.nothing(given).removeprefix("note: "))
        counts = list[tuple[int, int]]()
        deliver(lambda file: counts.append(write(file, store.at(numbers[::-1]), store.content)), target, quiet=True)
    (written, models), size = counts[0], target.stat().st_size / 1e6
    say(f"written to {target}: {written:,} rows, {models:,} models, {size:,.1f} MB")
    if not models:
        say("note: no model was kept, so nothing can be verified; measure with `harness compare --keep-models`.")


@click.command("verify", help=_HELP, short_help="Verify a bundle of results on this machine.")
@click.argument("bundle", type=click.Path())
@click.option("--data", metavar="FOLDER", type=click.Path(file_okay=False, exists=True), help="Folder of data files.")
@click.option("--plugin-path", **options.PLUGIN_PATH)
@click.option("--quiet", "-q", is_flag=True, help="Only rows that do not agree, and the summary.")
@click.pass_context
@results_alone()
def command(ctx: click.Context, bundle: str, data: str | None, plugin_path: Sequence[str], quiet: bool) -> None:
    """Print a line a row and the summary, and exit with 1 if something differs or nothing could be verified."""
    from harness.call.verify import line, verify
    from harness.run.verification import Outcome, VerifiedRow

    def tell(row: VerifiedRow) -> None:
        if not quiet or row.outcome is not Outcome.AGREES:
            show(f"{line(row)}\n")

    verification = verify(Path(bundle), data=data, plugin_path=plugin_path, tell=tell)
    show("".join(f"{text}\n" for text in verification.summary))
    ctx.exit(0 if verification.agrees else 1)
