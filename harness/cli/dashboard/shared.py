"""Options that the commands of the dashboard share."""

from __future__ import annotations

from typing import Any

import click

CONFIG: dict[str, Any] = {
    "metavar": "FILE",
    "type": click.Path(),
    "help": "asv's configuration file, or its folder.  [default: asv.conf.json]",
}
