"""What a comparison in Python gives: records, a frame, the table, a page, and which solver was best."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.call.best import best_of
from harness.call.objects import selection_text
from harness.call.settings import SETTINGS, in_python
from harness.call.values import SELECTION, as_list, text_of
from harness.datasets.cache import cache_root
from harness.datasets.files import IN_MEMORY
from harness.support.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from harness.registry.discovery import Registry
    from harness.run.record import Record


@dataclass(frozen=True, repr=False)
class Result:
    """The runs of one comparison. A notebook shows it as a table.

    Attributes
    ----------
    records : a run each, as the store has it, in the order of the plan; a path has its ``cells``
    command : the command line that compares the same
    study : SHA-256 of the study, as every record has it
    """

    records: tuple[Record, ...]
    command: str
    study: str
    _registry: Registry | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The records as a pandas DataFrame, one row a run, a cell of a path too; nested figures are dicts and lists.

        The parameters of problem and kernel are columns too, ``C`` and ``gamma``, behind the fields of the record.
        """
        import pandas as pd

        from harness.call.request import with_cells
        from harness.run.record import COLUMNS

        rows = with_cells(self.records)
        frame = pd.DataFrame(rows, columns=[*COLUMNS, "reused"])
        for field in ("problem_parameters", "kernel_parameters"):
            values = [row.get(field) or {} for row in rows]
            for name in dict.fromkeys(name for each in values for name in each):
                if name not in frame:
                    frame[name] = [each.get(name) for each in values]
        return frame

    @property
    def table(self) -> str:
        """The table that the command prints, 100 columns wide."""
        from harness.report import formats

        return str(formats.render("table", self.records, command="", spelled=in_python))

    @property
    def verdict(self) -> list[str]:
        """The sentences below the table: who failed, and which solver to take, or which is the most accurate."""
        from harness.report.verdict import of_records

        return list(map(in_python, of_records(self.records).sentences))

    def explain(self) -> str:
        """Return what the columns and marks of the table mean, and what compilation took: a sentence or more a line."""
        from harness.report import table

        sheets = table.sheets(self.records, optional=False)
        return "\n".join(in_python(text) for sheet in sheets for text in sheet.explained)

    @property
    def failures(self) -> tuple[Record, ...]:
        """The runs that failed or did not do what was asked; each has its ``reason``."""
        return tuple(record for record in self.records if record.failed)

    def best(self, by: str = "time", target: float | None = None) -> pd.DataFrame:
        """Return which solver is best on each data set, and whether that is more than the noise of the runs.

        A line a data set and kernel, of costs, gaps and violations of optimality a line a problem: ``solver`` (empty: none
        did what was asked), its figure, the median of its runs, between ``low`` and ``high``; ``ties``: who could not be
        distinguished from it.

        Parameters
        ----------
        by : ``time`` (CPU seconds where every run had one thread, else seconds), ``test_accuracy``, or another figure that
            tables rank: ``kernel_evaluations``, ``support_vectors``, ``relative_gap``, ``suboptimality``, ``metrics.f1`` ...
        target : a certified relative gap: the time, or the kernel evaluations, until it was reached. Without it runs compare in
            what they cost only if all had the same ``target_gap``, else the frame is empty, for the reason in ``attrs["reason"]``

        Raises
        ------
        UsageError : an unknown figure.
        """
        return best_of(self.records, by, target)

    def plot(self, kind: str | None = None) -> Figure:
        """Return a figure of matplotlib. A notebook shows it; ``figure.savefig("gaps.pdf")`` writes it.

        Parameters
        ----------
        kind : ``anytime``: relative gap against seconds, a panel a problem, of each solver the run of median time.
            ``profile``: the share of problems on which a solver is within a factor of the fastest.
            ``front``: test error against seconds. ``scaling``: seconds against the size of a data set. ``heat``: the error
            of each cell of a path. ``bars``: seconds, kernel evaluations, core set and test error of each solver.
            None is ``heat`` for a path, else ``anytime``

        Raises
        ------
        UsageError : matplotlib is not installed (the extra ``report`` brings it); an unknown kind; nothing to draw.
        """
        from harness.call.request import with_cells
        from harness.report import plots

        return plots.figure(with_cells(self.records), kind)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Return this comparison as one page that needs nothing else; with a ``path`` it is written there, and None returned.

        Raises
        ------
        UsageError : no installed plugin makes such pages; the file cannot be written.
        """
        from harness.call.request import with_cells
        from harness.report import formats, output

        added = self._registry.report_formats if self._registry is not None else {}
        if "html" not in added:
            raise UsageError("no installed plugin makes pages; harness_dashboard, which comes with the harness, does.")
        target = None if path is None else output.checked_output(str(path))
        # what was in memory is in a folder that no reader of the page has
        folder = re.escape(str(cache_root().resolve() / IN_MEMORY))
        command = re.sub(rf"{folder}/\w+/", "", self.command)
        text = str(formats.render("html", with_cells(self.records), added=added, command=command))
        if target is None:
            return text
        output.deliver(text, target, quiet=True)
        return None

    def __str__(self) -> str:
        return self.table

    def __repr__(self) -> str:
        runs = "1 run" if len(self.records) == 1 else f"{len(self.records)} runs"
        solvers = list(dict.fromkeys(str(record.get("solver")) for record in self.records))
        datasets = list(dict.fromkeys(str(record.get("dataset")) for record in self.records))
        failed = f", {len(self.failures)} of them did not do what was asked" if self.failures else ""
        return f"<{runs} of {_few(solvers)} on {_few(datasets)}{failed}>"

    def _repr_markdown_(self) -> str:
        from harness.report import formats

        return str(formats.render("markdown", self.records, command="", spelled=in_python, optional=False))


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def command_of(given: Mapping[str, Any]) -> str:
    """Return the command line of settings as a call has them; what is None or false is left out."""
    words = ["harness", "compare"]
    for name, value in given.items():
        option, setting = f"--{name.replace('_', '-')}", SETTINGS.get(name)
        if value is True:
            words.append(option)
        elif value not in (None, False, []):
            text = selection_text if setting and setting.reader is SELECTION else text_of
            parts = as_list(value) if setting and setting.several else [value]
            words += [word for part in parts for word in (option, text(part))]
    return shlex.join(words)
