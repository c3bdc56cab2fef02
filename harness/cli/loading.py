"""Load the registry for a command, and remember its names for completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.cli import names
from harness.cli.say import say

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from harness.registry import Registry


def registry(plugin_paths: Sequence[str] = ()) -> Registry:
    """Return the registry of the installed plugins and the files of ``plugin_paths``.

    Raises
    ------
    UsageError : a plugin path that does not exist.
    """
    from harness.registry import load_registry, share_registry

    loaded = load_registry(plugin_paths)
    share_registry(loaded)  # a report tells of the formulations that were run, a given plugin's too
    if not plugin_paths:  # what one command was given is no name for the next
        names.remember(loaded)
    return loaded


def warn_of_broken(loaded: Registry, but: Container[str] = ()) -> None:
    """Say on standard error which plugins could not be loaded, those in ``but`` excepted, a line each."""
    for broken in loaded.broken.values():
        if broken.plugin not in but:
            reason = " ".join(broken.reason.split())
            say(f"harness: plugin '{broken.plugin}' could not be loaded: {reason}")
