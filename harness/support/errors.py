"""Exceptions of the harness: each message is a sentence a user can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class HarnessError(Exception):
    """Base of every error the harness raises on purpose; the command prints it without a traceback."""


class UsageError(HarnessError):
    """A request that cannot be carried out as written: unknown name, bad value, bad option (exit code 2)."""


class DataError(UsageError):
    """Data that cannot be read or that define no problem: missing file, wrong checksum, one class, NaN (exit code 2)."""


class DataChanged(DataError):
    """Data changed between the plan and the run: the machine's fault, not the solver's."""


class FilesMissing(DataError):
    """The raw files of a data set are not on this machine."""


class InvalidKernel(UsageError):
    """A kernel whose values give no certificate on these data: asymmetric, indefinite, no one function (status ``invalid``)."""


class NotKept(HarnessError):
    """Records could not be written to the result store (exit code 3).

    records : those of the comparison so far, written or not
    """

    def __init__(self, message: str, records: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.records = list(records)


class EngineLost(HarnessError):
    """The engine that carried runs to nodes is gone; what came back is in the store, and the same command goes on."""


class PluginError(HarnessError):
    """A plugin that cannot be loaded or that breaks the protocol; the message names the plugin."""


class InvalidModel(HarnessError):
    """A solver returned a model the host cannot accept: wrong shape, NaN, infeasible coefficients (status ``invalid``)."""
