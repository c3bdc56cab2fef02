"""LIBSVM with a counter: its model is LIBSVM's, its count that of a second, naive counter."""

import shutil
import sys
from ctypes import c_longlong
from pathlib import Path

import numpy as np
import platformdirs
import pytest
from harness_peers import LibSVM

from harness import CSVC, RBF, KernelOracle, UsageError
from harness.datasets.generators import Checkerboard
from reports.lasvm_2005 import libsvm_counted
from reports.lasvm_2005.libsvm_counted import COUNT, LibSVMCounted

SOURCE = Path(platformdirs.user_cache_dir("svm-harness-tests")) / "libsvm-source"
"""Fetched once for all test sessions."""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler called g++")
    if not SOURCE.exists():
        try:
            folder = libsvm_counted.fetched(tmp_path_factory.mktemp("fetched"))
        except UsageError as error:
            pytest.skip(str(error))
        SOURCE.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, SOURCE, dirs_exist_ok=True)
    return SOURCE


def with_a_naive_counter(text):
    """svm.cpp with a second counter, which counts each value by one where it is computed."""
    place = "data[j] = (Qfloat)(y[i]*y[j]*(this->*kernel_function)(i,j));"
    assert text.count(place) == 1
    head, body, rest = text.partition("class SVC_Q")
    return f'extern "C" {{ long long one_by_one = 0; }}\n{head}{body}{rest.replace(place, f"{{ one_by_one++; {place} }}", 1)}'


@pytest.fixture(scope="module")
def counted(source, tmp_path_factory):
    """The solver, its library in a folder that no other test sees."""
    naive, place = libsvm_counted.patched, tmp_path_factory.mktemp("built") / "library"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libsvm_counted, "folder", lambda: place)
        patch.setattr(libsvm_counted, "patched", lambda text: with_a_naive_counter(naive(text)))
        libsvm_counted.build(source)
        yield LibSVMCounted
    sys.modules.pop(LibSVMCounted.package, None)


def problem(n=80, C=10.0, gamma=2.0, seed=0, cache_mb=40.0):
    data = Checkerboard(n=n, n_test=0, noise=0.1, seed=seed).load()
    return CSVC.build(KernelOracle(RBF(gamma), data.x_train, cache_mb=cache_mb), data.y_train, {"C": C})


def run(solver, posed):
    *_, last = solver.iterates(posed, np.random.default_rng(0))
    return last


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_count_is_that_of_the_values_one_by_one(counted, seed):
    posed = problem(seed=seed)
    solver = counted()
    assert solver.refusal(posed) is None
    naive = c_longlong.in_dll(sys.modules[counted.package].libsvm, "one_by_one")
    naive.value = 0
    assert posed.n < run(solver, posed).info[COUNT] == naive.value


@pytest.mark.slow
@pytest.mark.parametrize(("n", "C", "gamma"), [(100, 1.0, 1.0), (300, 10.0, 4.0), (500, 100.0, 0.5)])
def test_the_model_is_libsvm_s(counted, n, C, gamma):
    posed = problem(n, C, gamma)
    theirs, ours = (run(solver, posed) for solver in (LibSVM(), counted()))
    duals = [posed.certify(model.dual_coef, model.intercept).dual for model in (theirs, ours)]
    assert duals[0] == pytest.approx(duals[1], rel=1e-5)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=5e-3)
