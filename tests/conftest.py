"""Settings every test shares: threads, caches and data, all before numpy and numba are imported."""

import hashlib
import os
import signal
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs

ROOT = Path(__file__).resolve().parents[1]


# the command's own machine code: it is kept by the source it depends on, which says nothing of NUMBA_BOUNDSCHECK
_CHECKED = "-boundscheck" if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0") else ""
os.environ["NUMBA_CACHE_DIR"] = str(Path(platformdirs.user_cache_dir("svm-harness")) / f"numba{_CHECKED}")
os.environ["NUMBA_CACHE_LOCATOR_CLASSES"] = "harness.measure.machine_code.SourceKeyedLocator"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# modules are kept compiled, as Python does by itself: each comparison would take 0.3 s more, each collection 4 s
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# pytest-xdist gives its workers the width of its terminal, and CI asks for colours; what tests read heeds both
for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "PY_COLORS"):
    os.environ.pop(name, None)
_SESSION = tempfile.TemporaryDirectory(prefix="harness-tests-")
os.environ["HARNESS_CACHE"] = _SESSION.name
if "HARNESS_DATA" not in os.environ and (ROOT / "../shared/data/raw").is_dir():
    os.environ["HARNESS_DATA"] = str((ROOT / "../shared/data/raw").resolve())

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

pytest.register_assert_rewrite("harness.testing.conformance", "harness.testing.suite", "tests.golden")
settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.differing_executors]
)
settings.register_profile("explore", parent=settings.get_profile("ci"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that read downloaded data sets: ``-m real_data`` runs them alone."""
    for item in items:
        if "raw_data" in getattr(item, "fixturenames", ()):
            item.add_marker("real_data")


@pytest.fixture(autouse=True)
def unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep each message in one line, as tests look for its words; a test of the width has a fixture of this name."""
    monkeypatch.setattr("harness.report.output.MESSAGE_WIDTH", 10**6)


@pytest.fixture(scope="session")
def raw_data() -> Path:
    """The folder of downloaded data sets; tests that need it are skipped where there is none."""
    folder = os.environ.get("HARNESS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("no raw data: set HARNESS_DATA to the folder of the downloaded sets")
    return Path(folder)


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """Let what a test starts heed SIGINT: what a shell or a service starts in the background ignores it, and so would they."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def warm_pools() -> Iterator[dict[str, Any]]:
    """The pools by what their processes may have read; they end with the module's tests."""
    pools: dict[str, Any] = {}
    yield pools
    for pool in pools.values():
        pool.close()


@pytest.fixture
def warm_sessions(warm_pools: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let sessions in this process find the processes warm that an earlier one of the module started.

    What those have read is told by the environment, and by the plugins and data in the test's folder: a session for
    which any of that is new has processes of its own, as has one of several jobs, which pins them to cores.
    """
    from harness.run import driver
    from harness.run.pool import ProcessPool

    def pool_for(cores: list[int] | None, numba_cache: Path, stop: threading.Event, reading_seconds: Any) -> Any:
        if cores is not None:
            return ProcessPool(cores, numba_cache, stop, reading_seconds)
        surroundings = sorted(
            item for item in os.environ.items() if item[0] not in ("PYTEST_CURRENT_TEST", "HARNESS_STORE")
        )
        files = sorted(path for path in tmp_path.rglob("*.*") if path.suffix in (".py", ".csv", ".npz"))
        read = hashlib.sha256(repr((surroundings, sys.path, files)).encode())
        for file in files:
            read.update(file.read_bytes())
        pool = warm_pools.setdefault(read.hexdigest(), ProcessPool(None, numba_cache, stop, reading_seconds))
        pool.stop, pool.reading_seconds = stop, reading_seconds
        return types.SimpleNamespace(
            run=pool.run, prepare=pool.prepare, close=lambda: None
        )  # it stays for the next session

    monkeypatch.setattr(driver, "ProcessPool", pool_for)
