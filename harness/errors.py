"""The harness's own exceptions: each message is a sentence a user can act on."""


class HarnessError(Exception):
    """Base of every error the harness raises on purpose; the command prints it without a traceback."""


class UsageError(HarnessError):
    """A request that cannot be carried out as written: unknown name, bad value, bad option (exit code 2)."""


class DataError(UsageError):
    """Data that cannot be read or that define no problem: missing file, wrong checksum, one class, NaN (exit code 2)."""


class LabelsSpent(UsageError):
    """More labels were to be bought than the budget has left; none of them was."""


class PluginError(HarnessError):
    """A plugin that cannot be loaded or that breaks the protocol; the message names the plugin."""


class InvalidModel(HarnessError):
    """A solver returned a model the host cannot accept: wrong shape, NaN, infeasible coefficients (status ``invalid``)."""
