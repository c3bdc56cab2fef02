"""The environment variables that the command heeds: the one list of them, which the help and the README show."""

from __future__ import annotations

VARIABLES = {
    "HARNESS_STORE": "the result store that is meant where --store names none; `harness results --path` says which it is",
    "HARNESS_DATA": "the folder of the raw files of the papers' data sets; `harness describe adult` says what belongs there",
    "HARNESS_CACHE": "the folder of what can be made again: parsed data, points given in memory",
    "NUMBA_CACHE_DIR": "the folder of compiled code",
    "HARNESS_DISABLE_PLUGINS": "plugins that are not loaded, a list of names",
    "HARNESS_NO_GROUPS": "1: runs are not held by a control group",
    "HARNESS_DEBUG": "1: the traceback of an error",
    "COLUMNS": "the width of tables, where they go into a pipe",
    "NO_COLOR": "1: no bold text",
}
"""Name -> what it says."""
