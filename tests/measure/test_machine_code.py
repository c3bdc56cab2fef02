"""Machine code is kept by the source it depends on: too little would measure old code, too much compiles everybody anew."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

import harness
from harness.measure import machine_code
from harness.registry.plugin_files import imported_modules

COMPILED = "import numba\nfrom {helper} import FACTOR\n@numba.njit(cache=True)\ndef scaled(value):\n    return FACTOR * value\n"


def _package(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "numbers_of.py").write_text("FACTOR = 2\n")
    (folder / "loops.py").write_text(COMPILED.format(helper=f"{name}.numbers_of"))
    return folder


def test_a_plugin_of_one_file_depends_on_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "numbers_of.py").write_text("FACTOR = 2\n")
    (tmp_path / "loops.py").write_text(COMPILED.format(helper="numbers_of"))
    (tmp_path / "another.py").write_text("")
    package = machine_code.package_of(tmp_path / "loops.py")
    before = machine_code.source_key(package)
    (tmp_path / "another.py").write_text("# changed\n")
    assert machine_code.source_key(package) == before
    (tmp_path / "numbers_of.py").write_text("FACTOR = 3\n")
    assert machine_code.source_key(package) != before


def test_the_host_compiles_nothing_that_its_key_does_not_cover() -> None:
    host = Path(harness.__file__).parent
    compiled = set(machine_code.compiled_of_host())
    uses = {file for file in host.rglob("*.py") if {"numba", "harness.support.jit"} & imported_modules(file)}
    others = {str(file.relative_to(host)) for file in uses - compiled}
    assert host / "kernels/compiled.py" in uses
    assert others == {"measure/machine_code.py"}, "it asks numba where machine code is"


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["first", "second"])
def test_numba_compiles_anew_exactly_what_changed(tmp_path: Path, changed: str) -> None:
    for name in ("first", "second"):
        _package(tmp_path, name)
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": paths}

    def values_and_hits() -> list[str]:
        code = (
            "from first import loops as a; from second import loops as b\n"
            "print(a.scaled(5), b.scaled(5), *(sum(m.scaled.stats.cache_hits.values()) for m in (a, b)))"
        )
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return run.stdout.split()

    assert [values_and_hits() for _ in range(2)] == [["10", "10", "0", "0"], ["10", "10", "1", "1"]]
    (tmp_path / changed / "numbers_of.py").write_text("FACTOR = 30\n")
    expected = ["150", "10", "0", "1"] if changed == "first" else ["10", "150", "1", "0"]
    assert values_and_hits() == expected


def test_two_signatures_that_are_saved_at_the_same_time_have_a_file_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_index = IndexDataCacheFile._save_index

    def slowly(file: IndexDataCacheFile, overloads: dict[str, str]) -> None:
        time.sleep(0.05)
        save_index(file, overloads)

    monkeypatch.setattr(IndexDataCacheFile, "_save_index", slowly)
    code = {"float32": "code of float32", "float64": "code of float64"}
    files = {name: IndexDataCacheFile(str(tmp_path), "function", "stamp") for name in code}
    threads = [threading.Thread(target=files[name].save, args=(name, code[name])) for name in code]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: files[name].load(name) for name in code} == code
