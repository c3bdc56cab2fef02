"""Plugin `dashboard`: a web site with the history of every solver by asv, and pages of comparisons, which works offline.

asv (airspeed velocity) is the optional dependency ``asv``. It measures and publishes in a separate process (`processes`,
`inside_asv`, `publishers`); the other modules read and write its files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import click


@hookimpl
def harness_commands() -> list[click.Command]:
    """Add ``harness dashboard``."""
    from harness_dashboard.command import dashboard

    return [dashboard]


@hookimpl
def harness_report_formats() -> Mapping[str, Callable[..., str]]:
    """Add ``--format html``: the pages of one comparison as a single file."""
    return {"html": _html}


def _html(records: Sequence[Mapping[str, Any]], command: str = "") -> str:
    """The pages of one comparison as a single file."""
    from harness_dashboard.page import of_records

    return of_records(records, command=command)
