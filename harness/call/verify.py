"""Verification in Python, and what the command says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.call import request
from harness.report.rows import Row, kernel_text
from harness.run.bundle import Bundle
from harness.run.verification import Outcome, VerifiedRow, Verifier
from harness.support.printable import plain_line


@dataclass(frozen=True)
class Verification:
    """What the verification of a bundle says, row by row; ``str`` of it is a line a row and the summary.

    rows : of the bundle, each with its ``record``, ``outcome``, ``reasons`` and ``notes``
    """

    rows: tuple[VerifiedRow, ...]

    @property
    def agrees(self) -> bool:
        """True if a row could be verified, and all that could be verified agree."""
        outcomes = {row.outcome for row in self.rows}
        return Outcome.AGREES in outcomes and Outcome.DIFFERS not in outcomes

    @property
    def summary(self) -> list[str]:
        """The differences of code and versions, and how many rows agree, a line each."""
        notes = Counter(note for row in self.rows for note in row.notes)
        total = f"{len(self.rows):,} row{'' if len(self.rows) == 1 else 's'}"
        lines = [f"note: code or versions differ: {note} ({count:,} of {total})" for note, count in notes.items()]
        outcomes = Counter(row.outcome for row in self.rows)
        counts = [f"{outcomes[outcome]:,} {_WORDS[outcome]}" for outcome in Outcome if outcomes[outcome]]
        return [*lines, f"{total}: {', '.join(counts)}."]

    def __str__(self) -> str:
        return "\n".join([*map(line, self.rows), *self.summary])


_WORDS = {Outcome.AGREES: "agree", Outcome.DIFFERS: "differ", Outcome.NOT_VERIFIABLE: "could not be verified"}


def verify(
    path: str | Path, *, data: str | Path | None = None, plugin_path: str | Path | Iterable[str | Path] = (),
    tell: Callable[[VerifiedRow], object] | None = None,
) -> Verification:  # fmt: skip
    """Verify a bundle: state its problems again, and compute each certificate, score and count from the stored model.

    No solver runs, and nothing of the bundle is executed. The data are those of this machine; their SHA-256 is compared.

    Parameters
    ----------
    path : the zip file that ``harness results export --bundle`` wrote
    data : the folder of data that were files; None: they are at the recorded paths
    plugin_path : files of plugins that are not installed
    tell : called with each row as soon as it is verified

    Raises
    ------
    UsageError : the file is no bundle, has no runs, or a plugin path does not exist.
    """
    paths = [plugin_path] if isinstance(plugin_path, str | Path) else plugin_path
    registry = request.loaded(map(str, paths))
    rows = []
    with Bundle(path) as bundle:
        for row in Verifier(bundle, registry, None if data is None else Path(data)).rows():
            rows.append(row)
            if tell is not None:
                tell(row)
    return Verification(tuple(rows))


def line(row: VerifiedRow) -> str:
    """Return the line of a row: ``digits, smo, c-svc C=1, rbf gamma=0.05, seed 0: agrees (11 figures)``."""
    record, shown = row.record, Row((row.record,))
    kernel = kernel_text(record.get("kernel"), record.get("kernel_parameters"))
    parts = [record.get("dataset") or "?", shown.name, shown.problem, kernel]
    numbers = {"seed": record.get("seed"), "repetition": record.get("repetition") or None, "fold": record.get("fold")}
    parts += [f"{name} {number}" for name, number in numbers.items() if number is not None]
    figures = "; ".join(filter(None, (f"{row.figures} figures", row.unverified)))
    why = f": {'; '.join(row.reasons)}" if row.reasons else f" ({figures})"
    return plain_line(f"{', '.join(filter(None, parts))}: {row.outcome}{why}")
