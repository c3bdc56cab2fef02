"""The executors that come with the harness, and how one is chosen: ``SCHEME://PLACE?OPTION=VALUE``."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from harness.registry.executor import Executor
from harness.support.errors import UsageError
from harness.support.faults import format_error
from harness.support.parameters import did_you_mean

if TYPE_CHECKING:
    from harness.registry.discovery import Registry


def dask(place: str, workers: str = "") -> Executor:
    """A Dask cluster: ``dask://HOST:PORT`` of its scheduler, ``dask://local?workers=2`` for one that lives as long as the command."""
    from harness.run.on_dask import OnDask

    return OnDask(place, workers)


def threads(place: str, workers: str = "2") -> Executor:
    """Threads of the driver, as if this machine were a node: ``threads://local?workers=2`` tries a study without an engine."""
    if place != "local":
        raise UsageError(f"threads://{place} is no place; threads are of this machine: threads://local?workers=2.")
    slots = number("workers", workers)
    return Executor(ThreadPoolExecutor(slots), slots)


EXECUTORS: dict[str, Callable[..., Executor]] = {"dask": dask, "threads": threads}


def number(option: str, text: str) -> int:
    """Return the whole number above 0 that an option of a URL has.

    Raises
    ------
    UsageError : it is none.
    """
    if not text.isdecimal() or not int(text):
        raise UsageError(f"{option}={text!r} in the executor's URL must be a whole number above 0.")
    return int(text)


def chosen(url: str, registry: Registry) -> Callable[[], Executor]:
    """Return what opens the executor that a URL means.

    Raises
    ------
    UsageError : it means none; and where it is opened: nothing answers there, or its extra is not installed.
    """
    scheme, found, rest = url.partition("://")
    if not found or scheme not in registry.executors:
        known = {name: f"{name}://{'local?workers=2' if name in EXECUTORS else 'PLACE'}" for name in registry.executors}
        near = f" (did you mean '{known[url]}'?)" if url in known else did_you_mean(scheme, known)
        near = f" (did you mean 'dask://{url}'?)" if re.fullmatch(r"[\w.-]+:\d+", url) else near
        raise UsageError(f"{url!r} is no executor{near}; known: {', '.join(known.values())}.")
    place, _, query = rest.partition("?")
    make, options = registry.executors[scheme], dict(parse_qsl(query, keep_blank_values=True))
    taken = inspect.signature(make)
    try:
        taken.bind(place, **options)
    except TypeError as error:
        names = ", ".join(list(taken.parameters)[1:]) or "none"
        raise UsageError(f"{url!r} is no executor: {error}; the options of {scheme}:// are: {names}.") from None
    return functools.partial(_opened, make, scheme, place, options)


def _opened(make: Callable[..., Executor], scheme: str, place: str, options: dict[str, str]) -> Executor:
    try:
        return make(place, **options)
    except UsageError:
        raise
    except ImportError as error:
        raise UsageError(
            f"{scheme}:// needs what is not installed ({error.name or error}): pip install 'svm-harness[{scheme}]'."
        ) from None
    except Exception as error:
        raise UsageError(f"{scheme}://{place} cannot be used: {format_error(error)}.") from error
