"""Where a plugin failed: the innermost of its own lines, not what it called."""

import numpy as np
import pytest

from harness import UsageError
from harness.registry.discovery import load_registry
from harness.support.faults import format_error

CALLS = "import numpy as np\n\ndef solve():\n    return np.linalg.inv(np.zeros((2, 3)))\n"
KERNEL = """from dataclasses import dataclass
from harness import Linear, UsageError, hookimpl
{}

@dataclass(frozen=True)
class Own(Linear):
    name = "own"

    def rows(self):
        return solve()

@hookimpl
def harness_kernels():
    return [Own]
"""


@pytest.mark.parametrize("package", [True, False])
def test_the_innermost_line_of_the_plugins_own_files_is_named(tmp_path, package: bool) -> None:
    home = tmp_path / "linear_own"
    home.mkdir()
    (home / "parts.py").write_text(CALLS)
    source = KERNEL.format("from .parts import solve" if package else CALLS)
    file = home / ("__init__.py" if package else "own_kernel.py")
    file.write_text(source)
    registry = load_registry([home if package else file], only=("linear_own", "own_kernel"))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        registry.kernels["own"]().rows()
    where = "'linear_own', linear_own/parts.py:4" if package else "'own_kernel', own_kernel.py:6"
    assert format_error(caught.value).startswith(f"plugin {where}, in solve: LinAlgError: ")
    assert format_error(UsageError("no."), "own_kernel") == "plugin 'own_kernel': no."
