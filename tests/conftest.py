"""Settings every test shares: threads, caches and data, all before numpy and numba are imported."""

import os
import tempfile
from pathlib import Path

import platformdirs

ROOT = Path(__file__).resolve().parents[1]


# machine code is kept by the source it depends on, which says nothing of NUMBA_BOUNDSCHECK
_CHECKED = "-boundscheck" if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0") else ""
os.environ["NUMBA_CACHE_DIR"] = str(Path(platformdirs.user_cache_dir("svm-harness-tests")) / f"numba{_CHECKED}")
os.environ["NUMBA_CACHE_LOCATOR_CLASSES"] = "harness.measure.machine_code.SourceKeyedLocator"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
_SESSION = tempfile.TemporaryDirectory(prefix="harness-tests-")
os.environ["HARNESS_CACHE"] = _SESSION.name
if "HARNESS_DATA" not in os.environ and (ROOT / "../shared/data/raw").is_dir():
    os.environ["HARNESS_DATA"] = str((ROOT / "../shared/data/raw").resolve())

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

pytest.register_assert_rewrite("harness.testing.conformance")
settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.differing_executors]
)
settings.register_profile("explore", parent=settings.get_profile("ci"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def raw_data() -> Path:
    """The folder of downloaded data sets; tests that need it are skipped where there is none."""
    folder = os.environ.get("HARNESS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("no raw data: set HARNESS_DATA to the folder of the downloaded sets")
    return Path(folder)
