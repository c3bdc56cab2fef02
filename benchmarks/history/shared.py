"""What these benchmarks and the dashboard agree on: `harness_dashboard.history`, of the code that measures.

The installed package is that of the commit that is measured, which may be older than any agreement. So the file is
loaded by its path: ``harness dashboard`` says where it is, beside asv's own commands it stands in the same checkout.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

_FILE = os.environ.get("HARNESS_HISTORY") or Path(__file__).parents[2] / "plugins" / "harness_dashboard" / "history.py"
_SPEC = importlib.util.spec_from_file_location("harness_dashboard_history", _FILE)
assert _SPEC is not None
assert _SPEC.loader is not None
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
globals().update({name: value for name, value in vars(_MODULE).items() if not name.startswith("__")})
