"""LIBSVM with a counter: its model is LIBSVM's, its count a twin's."""

import shutil
import sys
from pathlib import Path

import numpy as np
import platformdirs
import pytest
from harness_peers import LibSVM

from harness import CSVC, RBF, KernelOracle, UsageError
from harness.datasets.generators import Checkerboard
from reports.kit import libsvm_counted
from reports.kit.libsvm_counted import COUNT, LibSVMCounted
from tests.plugins.naive_smo import naive_smo

SOURCE = Path(platformdirs.user_cache_dir("svm-harness-tests")) / "libsvm-source"
"""Fetched once for all test sessions."""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler called g++")
    if not SOURCE.exists():
        try:
            found = libsvm_counted.fetched(tmp_path_factory.mktemp("fetched"))
        except UsageError as error:
            pytest.skip(str(error))
        SOURCE.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(found, SOURCE, dirs_exist_ok=True)
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


def fetched_columns(posed):
    """The kernel columns that SMO without shrinking has looked at, each counted once.

    LIBSVM puts the positive class first and takes the last of variables that are equally good, the twin the first.
    """
    order = np.argsort(posed.targets, kind="stable")[::-1]
    targets, kernel = posed.targets[order], posed.kernel.block(order, order)
    again = CSVC.build(KernelOracle(posed.kernel.kernel, posed.kernel.points[order]), targets, {"C": posed.C})
    zero, form = np.zeros(posed.n), again.dual_form()
    history, _ = naive_smo(kernel, np.diag(kernel), form, zero, tau=1e-3)
    moved = np.nonzero(np.diff([zero, *history], axis=0))[1]
    g = targets - kernel @ history[-1]
    up = history[-1] < form.upper[: posed.n]
    return {*moved.tolist(), int(np.argmax(np.where(up, g, -np.inf)))}  # the last look finds nothing to do


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_without_shrinking_every_column_is_computed_once(counted, seed):
    posed = problem(seed=seed)
    columns = fetched_columns(posed)
    assert 10 < len(columns) < posed.n
    assert run(counted(shrinking=False), posed).info[COUNT] == posed.n * len(columns)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "C", "gamma"), [(100, 1.0, 1.0), (300, 10.0, 4.0), (500, 100.0, 0.5)])
def test_the_model_is_libsvm_s(counted, n, C, gamma):
    posed = problem(n, C, gamma)
    theirs, ours = (run(solver, posed) for solver in (LibSVM(), counted()))
    duals = [posed.certify(found.dual_coef, found.intercept).dual for found in (theirs, ours)]
    assert duals[0] == pytest.approx(duals[1], rel=1e-5)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=5e-3)
