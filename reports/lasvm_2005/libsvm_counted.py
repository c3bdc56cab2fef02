"""A plugin for this study alone: LIBSVM as its authors ship it, with a counter in its kernel columns.

``libsvm-counted``  is there once it is built, which needs a C++ compiler called g++:

    python -m reports.lasvm_2005.libsvm_counted            # fetches the source with pip
    python -m reports.lasvm_2005.libsvm_counted FOLDER     # of the unpacked source, where there is no network

The library goes into the harness's cache folder.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from ctypes import c_longlong
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_peers.libsvm import LibSVMOfficial

from harness import Iterate, Problem, ProblemSummary, Solver, UsageError, hookimpl
from harness.datasets.cache import cache_root

VERSION = "3.37.0"
COUNT = "kernel_evaluations_libsvm"
"""Key of a run's info: the number of kernel values that LIBSVM computed, which the harness cannot count in a black box."""

_FLAGS = ("-O3", "-fPIC", "-shared")  # no OpenMP: one thread
_COUNTER = "libsvm_kernel_values"
_CLASS = "class SVC_Q: public Kernel"  # of svm.cpp
_PLACE = (
    "if((start = cache->get_data(i,&data,len)) < len)\n\t\t{\n"  # the first one there: [start, len) of a column follow
)


def folder() -> Path:
    """Return the folder of the built library, whether or not it exists."""
    return cache_root() / f"libsvm-counted-{VERSION}"


def patched(text: str) -> str:
    """Return svm.cpp with the counter: kernel values of C-SVC's columns, neither its diagonal nor predictions.

    Raises
    ------
    UsageError : the counter's place is not there.
    """
    head, known, body = text.partition(_CLASS)
    before, place, after = body.partition(_PLACE)
    if not place or "class ONE_CLASS_Q" in before:
        raise UsageError(f"this is not the svm.cpp of LIBSVM {VERSION}: {_CLASS} has no {_PLACE.splitlines()[0]!r}.")
    counted = f"{place}\t\t\t{_COUNTER} += len - start;\n"
    return f'extern "C" {{ long long {_COUNTER} = 0; }}\n{head}{known}{before}{counted}{after}'


def build(source: Path) -> Path:
    """Compile the library from the unpacked source of libsvm-official; return its folder.

    Raises
    ------
    UsageError : no source, another version's, or no compiler.
    """
    code, layer = source / "cpp-source" / "svm.cpp", source / "libsvm" / "svm.py"
    if not (code.exists() and layer.exists()):
        raise UsageError(
            f"{source} is not the unpacked source of libsvm-official {VERSION}: it has no {code} or no {layer}."
        )
    if shutil.which("g++") is None:
        raise UsageError(
            "there is no C++ compiler called g++ on the PATH; install one (of most systems the package g++)."
        )
    folder().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder().parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        (made / "svm.cpp").write_text(patched(code.read_text()))
        library = made / "clib.cpp-counted.so"  # the name that svm.py looks for in its folder
        subprocess.run(["g++", *_FLAGS, f"-I{code.parent}", "-o", library, made / "svm.cpp"], check=True)
        shutil.copy(layer, made / "svm.py")
        shutil.rmtree(folder(), ignore_errors=True)
        made.rename(folder())
    return folder()


def fetched(scratch: Path) -> Path:
    """Return the folder of the source, fetched with pip and unpacked in ``scratch``."""
    options = ["--quiet", "--no-binary", ":all:", "--no-deps", "--dest", str(scratch)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, f"libsvm-official=={VERSION}"], check=False)
    archive = next(scratch.glob("libsvm*.tar.gz"), None)
    if archive is None:
        raise UsageError(
            f"pip could not fetch the source of libsvm-official {VERSION}; unpack it by hand and give its folder."
        )
    subprocess.run(["tar", "-xzf", archive, "-C", scratch], check=True)
    return next(path for path in scratch.iterdir() if path.is_dir())


@dataclass(frozen=True)
class LibSVMCounted(LibSVMOfficial):
    """LIBSVM 3.37 in one thread, which reports how many kernel values it computed for its columns.

    info : ``kernel_evaluations_libsvm``, without the n values of the diagonal
    """

    name = "libsvm-counted"
    package = "svm_of_libsvm_counted"

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse what LIBSVM does, and everything where the library is not built."""
        if self.package not in sys.modules:
            if not (folder() / "svm.py").exists():
                return f"{self.name} is not built; run: python -m reports.lasvm_2005.libsvm_counted"
            spec = importlib.util.spec_from_file_location(self.package, folder() / "svm.py")
            assert spec is not None
            assert spec.loader is not None
            sys.modules[self.package] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        return super().skip(problem)

    def train(self, problem: Problem, data: Any) -> Iterate:
        """Train with the counter at zero."""
        counter = c_longlong.in_dll(sys.modules[self.package].libsvm, _COUNTER)
        counter.value = 0
        iterate = super().train(problem, data)
        iterate.info = {**iterate.info, COUNT: counter.value}
        return iterate


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the counted LIBSVM."""
    return [LibSVMCounted]


def main() -> None:
    """Build the library."""
    try:
        with tempfile.TemporaryDirectory() as scratch:
            print(f"built: {build(Path(sys.argv[1]) if sys.argv[1:] else fetched(Path(scratch)))}")
    except UsageError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
