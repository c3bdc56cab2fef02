"""A plugin for the studies of papers: LIBSVM as its authors ship it, with a counter in its kernel columns.

``libsvm-counted``  is there once it is built, which needs a C++ compiler called g++:

    python -m reports.lasvm_2005.libsvm_counted                    # fetches the source with pip
    python -m reports.lasvm_2005.libsvm_counted --source FOLDER    # of the unpacked source, where there is no network

The library goes into the harness's cache folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tarfile
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
"""In a run's info: the kernel values that LIBSVM says it computed; the harness cannot count those of a black box."""

_FLAGS = ("-O3", "-fPIC", "-shared")  # no OpenMP: one thread
_COUNTER = "libsvm_kernel_values"
_PLACES = (  # of svm.cpp: each line occurs once, and is followed by the line beside it
    ("// Kernel Cache\n//\n", f'extern "C" {{ long long {_COUNTER} = 0; }}\n'),
    # SVC_Q::get_Q: the values [start, len) of a column follow
    ("if((start = cache->get_data(i,&data,len)) < len)\n\t\t{\n", f"\t\t\t{_COUNTER} += len - start;\n"),
)
_HEAD = "class SVC_Q: public Kernel"  # the second place is the first of its kind behind this line
_NEXT = "class ONE_CLASS_Q: public Kernel"  # and before this one


def folder() -> Path:
    """Return where the built library lies, or would."""
    return cache_root() / f"libsvm-counted-{VERSION}"


def is_built() -> bool:
    """Return whether the library is there."""
    return (folder() / "svm.py").exists()


def patched(text: str) -> str:
    """Return svm.cpp with the counter: kernel values of C-SVC's columns, neither its diagonal nor predictions.

    Raises
    ------
    UsageError : a place is not there, or not once.
    """
    before, head, after = text.partition(_HEAD)
    body, follows, rest = after.partition(_NEXT)
    parts = [before, body]
    for k, (place, line) in enumerate(_PLACES):
        found = parts[k].count(place)
        if found != 1 or not head or not follows:
            raise UsageError(
                f"this is not the svm.cpp of LIBSVM {VERSION}: the counter's place {place.splitlines()[0]!r} occurs {found} "
                "times; expected once."
            )
        parts[k] = parts[k].replace(place, place + line)
    return f"{parts[0]}{head}{parts[1]}{follows}{rest}"


def build(source: Path) -> Path:
    """Compile the library from the unpacked source of libsvm-official, or of LIBSVM itself; return its folder.

    Raises
    ------
    UsageError : no source, another version's, or no compiler.
    """
    code, layer = (_found(source, names) for names in (("cpp-source/svm.cpp", "svm.cpp"), _LAYERS))
    compiler = shutil.which("g++")
    if compiler is None:
        raise UsageError(
            "there is no C++ compiler called g++ on the PATH; install one (of most systems the package g++)."
        )
    text = patched(code.read_text())
    folder().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder().parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        (made / "svm.cpp").write_text(text)
        library = str(made / "clib.cpp-counted.so")  # the name that svm.py looks for beside itself
        subprocess.run([compiler, *_FLAGS, f"-I{code.parent}", "-o", library, str(made / "svm.cpp")], check=True)
        shutil.copy(layer, made / "svm.py")
        shutil.rmtree(folder(), ignore_errors=True)
        made.rename(folder())
    return folder()


_LAYERS = ("libsvm/svm.py", "python/libsvm/svm.py")  # of the package, of LIBSVM's own tree


def _found(source: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (source / name).exists():
            return source / name
    raise UsageError(
        f"{source} has no {' and no '.join(names)}; give the folder of libsvm-official {VERSION}'s unpacked source."
    )


def fetched(scratch: Path) -> Path:
    """Return the folder of the source, fetched with pip and unpacked in ``scratch``."""
    options = ["--quiet", "--no-binary", ":all:", "--no-deps", "--dest", str(scratch)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, f"libsvm-official=={VERSION}"], check=False
    )
    found = next(scratch.glob("libsvm*.tar.gz"), None)
    if done.returncode or found is None:
        raise UsageError(
            f"pip could not fetch the source of libsvm-official {VERSION}; unpack it by hand and give its folder to --source."
        )
    with tarfile.open(found) as archive:
        safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 and later
        archive.extractall(scratch, **safely)
    return next(path for path in scratch.iterdir() if path.is_dir())


@dataclass(frozen=True)
class LibSVMCounted(LibSVMOfficial):
    """LIBSVM 3.37 in one thread, which says how many kernel values it computed for its columns.

    info : ``kernel_evaluations_libsvm``, without the n values of the diagonal
    """

    name = "libsvm-counted"
    package = "svm_of_libsvm_counted"

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse what LIBSVM does, and everything where the library is not built."""
        if self.package not in sys.modules:
            if not is_built():
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
        found = super().train(problem, data)
        found.info = {**found.info, COUNT: counter.value}
        return found


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the counted LIBSVM."""
    return [LibSVMCounted]


def main(arguments: list[str] | None = None) -> None:
    """Build the library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, help="folder of the unpacked source; none: fetched with pip")
    given = parser.parse_args(arguments).source
    try:
        with tempfile.TemporaryDirectory() as scratch:
            print(f"built: {build(given or fetched(Path(scratch)))}")
    except UsageError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
