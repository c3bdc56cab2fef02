"""Plugin dashboard: the history of every solver as a web site made by asv, with pages of our own, that works offline.

asv (airspeed velocity) is the optional dependency ``asv``; it measures and publishes in a process of its own
(`processes`, `inside_asv`), the other modules read and write its files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def harness_commands() -> list[click.Command]:
    """Add ``harness dashboard``."""
    from harness_dashboard.command import dashboard

    return [dashboard]
