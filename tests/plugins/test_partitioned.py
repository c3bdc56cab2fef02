"""RandSVM-1 over parts: one model whoever makes the passes, the host's certificate, a twin of the pass, faults."""

from __future__ import annotations

import math
import os
import signal
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from harness_sampling import PartitionedRandSVM, partitioned
from harness_sampling.partitioned import score_part
from harness_sampling.solvers import RandSVM1

from harness import (
    CSVC,
    RBF,
    DataError,
    HarnessError,
    KernelOracle,
    Linear,
    PartitionedData,
    Poly,
    Precomputed,
    UsageError,
)
from tests.datasets.test_chunks import in_parts

N = 3000
SIZES = (400, 1, 1200, 0, 399, 1000)
OPTIONS = RandSVM1(oracle="smo-block", k=500, c=1.0)


def checkerboard(n=N, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 3.0, (n, 2)).astype(np.float32)
    return x, np.where(np.floor(x).sum(axis=1) % 2 == 0, 1.0, 0.0)


def fitted(data, executor=None, kernel=None, C=10.0, seed=1, **options):
    return PartitionedRandSVM(kernel or RBF(gamma=2.0), C, options=OPTIONS.replace(**options), seed=seed).fit(
        data, executor
    )


def figures(fit):
    """All that a fit found, but for its times."""
    rounds = [{**vars(each), "oracle_seconds": 0, "pass_seconds": 0} for each in fit.rounds]
    model = fit.model
    support = model.rows.tolist(), model.coef.tolist(), np.asarray(model.support_vectors).tolist(), model.intercept
    return fit.status, fit.certificate, rounds, fit.kernel_evaluations, support


def later(seconds, function, *rest):
    time.sleep(seconds)
    return function(*rest)


class Backwards(ThreadPoolExecutor):
    """What is asked first ends last."""

    def submit(self, function, part, *rest):
        seconds = 0.0 if isinstance(part, str) else 0.03 * (6 - int(part.path[-5]))
        return super().submit(later, seconds, function, part, *rest)


class Killing(Executor):
    """Hands on to Dask, slowly, and kills a worker once the tasks of the second pass are there."""

    def __init__(self, client):
        self.client, self.inner, self.passed, self.killed = client, client.get_executor(pure=False), 0, []

    def submit(self, function, *rest):
        found = self.inner.submit(later, 0.2, function, *rest)
        self.passed += function is score_part
        if self.passed == len(SIZES) * 2 and not self.killed:
            time.sleep(0.3)  # two of them are at work
            busy = next(worker for worker, tasks in self.client.processing().items() if tasks)
            self.killed = list(self.client.run(os.getpid, workers=[busy]).values())
            os.kill(self.killed[0], signal.SIGKILL)
        return found


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    return in_parts(tmp_path_factory.mktemp("board") / "parts", *checkerboard(), sizes=SIZES)


@pytest.fixture(scope="module")
def alone(board):
    return fitted(PartitionedData(board, 512))


def test_the_model_is_one_whoever_makes_the_passes_and_in_whatever_order_they_end(board, alone):
    assert len(alone.rounds) > 2
    assert alone.status == "gap"
    context = get_context("forkserver")
    context.set_forkserver_preload(["harness_sampling.partitioned"])
    for pool in (
        Backwards(6),
        *(ProcessPoolExecutor(count, mp_context=context) for count in (1, 3)),
    ):
        with pool:
            assert figures(fitted(PartitionedData(board, 512, executor=pool), pool)) == figures(alone)
    assert figures(fitted(PartitionedData(board, 512), seed=2)) != figures(alone)


@pytest.mark.parametrize("sizes", [(N,), (1500, 1500), (37,) * 81 + (3,)])
def test_it_is_that_of_one_part_to_the_last_support_vector(tmp_path, alone, sizes):
    found = fitted(in_parts(tmp_path / "parts", *checkerboard(), sizes=sizes))
    assert found.model.rows.tolist() == alone.model.rows.tolist()
    np.testing.assert_array_equal(found.model.coef, alone.model.coef)
    assert found.model.intercept == alone.model.intercept
    assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-12)
    assert [each.violators for each in found.rounds] == [each.violators for each in alone.rounds]


PROBLEMS = {
    "rbf": ({}, {}),
    "float64 throughout": ({}, {"gap": 1e-6, "tau": None}),
    "no tau": ({}, {"gap": 1e-2, "tau": 10.0}),
    "linear": ({"kernel": Linear(), "C": 0.01}, {"k": 2000}),
    "poly": ({"kernel": Poly(degree=3, gamma=0.5, coef0=1.0), "C": 0.1}, {"k": 2000}),
    "few support vectors": ({}, {"k": 60, "c": 2.0}),
    "rounds": ({}, {"max_rounds": 2}),
}


@pytest.mark.parametrize("suffix", [".npy", ".libsvm"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_certificate_is_the_hosts_over_all_points(tmp_path, name, suffix):
    (settings, options), (x, y) = PROBLEMS[name], checkerboard(900, 3)
    if suffix == ".libsvm":
        x = np.column_stack([x, np.zeros((900, 8))])  # sparse enough for CSR
        x[-1, -1] = 1.0
    data = PartitionedData(in_parts(tmp_path / "parts", x, y, suffix, (300, 500, 100)), 128)
    fit = fitted(data, **{"C": 10.0, **settings}, **options)
    chunks = list(data)
    assert scipy.sparse.issparse(chunks[0][0]) == (suffix == ".libsvm")
    points = np.concatenate([np.asarray(part.todense() if scipy.sparse.issparse(part) else part) for part, _ in chunks])
    kernel = settings.get("kernel", RBF(gamma=2.0))
    problem = CSVC.build(
        KernelOracle(kernel, points), np.concatenate([y for _, y in chunks]), {"C": settings.get("C", 10.0)}
    )
    coef = np.zeros(900)
    coef[fit.model.rows] = fit.model.coef
    host = problem.certify(coef, fit.model.intercept)
    assert fit.certificate.primal == pytest.approx(host.primal, rel=1e-9)
    assert fit.certificate.dual == pytest.approx(host.dual, rel=1e-9)
    assert fit.certificate.relative_gap == pytest.approx(host.relative_gap, abs=1e-9)
    assert fit.rounds[-1].exact
    own = {"few support vectors": "k support vectors", "rounds": "max_rounds"}.get(name, "gap")
    assert fit.status == own
    assert own != "gap" or host.relative_gap <= options.get("gap", OPTIONS.gap)
    np.testing.assert_allclose(
        fit.model.decision_function(points), problem.kernel.expand(coef) + fit.model.intercept, atol=1e-8
    )
    spent = sum(each.oracle_evaluations + each.pass_evaluations for each in fit.rounds)
    assert fit.kernel_evaluations == spent
    assert all(each.pass_evaluations >= 900 * each.support for each in fit.rounds)


def splitmix64(number, start):
    z = (number * 0x9E3779B97F4A7C15 + start) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def test_the_pass_is_that_of_its_slow_twin(board, alone):
    data, model = PartitionedData(board, 100), alone.model
    part, first, inside = data.parts[2], int(data.starts[2]), np.arange(450, 900, 7)
    for error in (None, 1e-3, 1e-30):
        found = score_part(part, first, model, 0.01, error, inside, (5, 9, 20))
        x, y = (np.concatenate(each) for each in zip(*part, strict=True))
        start, violators, losses = int(np.random.SeedSequence([5, 9]).generate_state(1, np.uint64)[0]), [], []
        for place, (point, label) in enumerate(zip(x.astype(float), y, strict=True)):
            row = first + place
            kernel = np.exp(-2.0 * ((model.support_vectors.astype(float) - point) ** 2).sum(axis=1))
            off = 1.0 - label * (math.fsum(kernel * model.coef) + model.intercept)
            if row not in inside:
                losses.append(max(0.0, off))
                violators += [(splitmix64(row, start), row)] if off > 0.01 else []
        assert (found.violators, found.rows.tolist()) == (len(violators), [row for _, row in sorted(violators)[:20]])
        assert found.keys.tolist() == [key for key, _ in sorted(violators)[:20]]
        assert found.loss == pytest.approx(math.fsum(losses), rel=1e-9 if error != 1e-3 else 1e-3)
        pieces = sum(min(256, len(y)) for _, y in part)  # float32 is tried on these, both ways
        tried = 0 if error is None else 2 * pieces
        assert found.evaluations == (len(x) + tried) * len(model.coef)


def test_what_cannot_be_solved_is_refused_in_a_sentence(tmp_path, board, alone):
    with pytest.raises(DataError, match="the points have 3 features each; expected 2"):
        alone.model.decision_function([[1.0, 2.0, 3.0]])
    with pytest.raises(UsageError, match="the kernel of parts is"):
        PartitionedRandSVM(Precomputed())
    with pytest.raises(UsageError, match="C="):
        PartitionedRandSVM(RBF(gamma=1.0), -1.0)
    with pytest.raises(UsageError, match="there is no solver or plugin called 'none'"):
        fitted(board, oracle="none")
    with pytest.raises(UsageError, match=r"the oracle 'fw' solves .*, not c-svc"):
        fitted(board, oracle="fw")
    with pytest.raises(DataError, match="expected two classes"):
        fitted(in_parts(tmp_path / "one", *checkerboard(57)[:1], np.ones(57)))


def test_a_sample_without_a_class_gets_one_of_it(tmp_path):
    x, y = checkerboard(400)
    y[:] = np.arange(400) == 250
    fit = fitted(in_parts(tmp_path / "parts", x, y, sizes=(200, 200)), k=20, C=1.0)
    assert 250 in fit.model.rows


def test_a_part_that_vanishes_in_mid_run_ends_it_with_a_sentence(tmp_path):
    where = in_parts(tmp_path / "parts", *checkerboard(), sizes=SIZES)

    class Deleting(ThreadPoolExecutor):
        def submit(self, function, part, *rest):
            if function is score_part and part.path.endswith("4.npy"):
                Path(part.path).unlink()
            return super().submit(function, part, *rest)

    with Deleting(1) as pool, pytest.raises(DataError, match=r"there is no file '.*part-04.npy'"):
        fitted(where, pool)


class Stopping(ThreadPoolExecutor):
    """Counts the parts that are scored, and fails after a number of them."""

    def __init__(self, most):
        super().__init__(1)
        self.most, self.scored = most, 0

    def submit(self, function, *rest):
        if function is score_part:
            self.scored += 1
            if self.scored > self.most:
                raise RuntimeError("the machine is gone")
        return super().submit(function, *rest)


def stored_fit(data, folder, pool=None, seed=1, C=10.0, **options):
    solver = PartitionedRandSVM(RBF(gamma=2.0), C, options=OPTIONS.replace(**options), seed=seed)
    return solver.fit(data, pool, folder=str(folder))


@pytest.mark.parametrize("most", [0, 4, 6, 9])
def test_a_fit_goes_on_from_its_folder_to_the_same_model(tmp_path, board, alone, most):
    data = PartitionedData(board, 512)
    with Stopping(most) as pool, pytest.raises(HarnessError, match="the machine is gone"):
        stored_fit(data, tmp_path, pool)
    stored = len(list(tmp_path.glob("*/pass-*-part-*.npz")))
    with Stopping(10_000) as pool:
        assert figures(stored_fit(data, tmp_path, pool)) == figures(alone)
    total = sum(1 for path in tmp_path.glob("*/pass-*-part-*.npz"))
    drawn = len(SIZES)  # of the first pass, which scores nothing
    assert pool.scored == total - max(stored, drawn)
    with Stopping(0) as pool:
        assert figures(stored_fit(data, tmp_path, pool)) == figures(alone)


def test_a_folder_is_not_used_for_other_data_or_parameters_and_a_damaged_file_is_computed_again(tmp_path, board, alone):
    folder = tmp_path / "stored"
    data = PartitionedData(board, 512)
    assert figures(stored_fit(data, folder)) == figures(alone)
    others = ({"seed": 2}, {"C": 9.0}, {"gap": 1e-2})
    found = [figures(stored_fit(data, folder, **other)) for other in others]
    x, y = checkerboard()
    y[0] = 1.0 - y[0]
    other_data = in_parts(tmp_path / "parts", x, y, sizes=SIZES)
    found.append(figures(stored_fit(PartitionedData(other_data, 512), folder)))
    assert len(list(folder.iterdir())) == 5
    assert found == [
        *(figures(fitted(data, **other)) for other in others),
        figures(fitted(PartitionedData(other_data, 512))),
    ]
    for path in folder.glob("*/*.npz"):
        path.write_bytes(path.read_bytes()[:100])
    assert figures(stored_fit(data, folder)) == figures(alone)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot be written: .*; name another, or leave folder out"):
        stored_fit(data, tmp_path / "file")


def test_progress_has_a_sentence_for_each_sample_and_part(board, alone, monkeypatch, capsys):
    told = []
    PartitionedRandSVM(RBF(gamma=2.0), 10.0, options=OPTIONS, seed=1).fit(
        PartitionedData(board, 512), progress=told.append
    )
    assert told[0] == "3,000 points in 6 parts"
    rounds = len(alone.rounds)
    assert sum("smo-block solves a sample of" in each for each in told) == rounds
    assert sum(f"round {rounds}: part 6 is done, 6 of 6" == each for each in told) >= 1
    assert capsys.readouterr().err == ""
    fitted(board)
    assert capsys.readouterr().err == "", "a short fit says nothing"
    monkeypatch.setattr(partitioned, "_QUIET_SECONDS", 0.0)
    fitted(board)
    assert "[0 s] round 1: smo-block solves a sample of 500 points" in capsys.readouterr().err


@pytest.mark.slow
def test_a_worker_killed_in_mid_pass_changes_nothing(board, alone):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1") as cluster,
        distributed.Client(cluster) as client,
    ):
        pool = Killing(client)
        assert figures(fitted(PartitionedData(board, 512, executor=pool.inner), pool)) == figures(alone)
        assert pool.killed
        assert pool.killed[0] not in client.run(os.getpid).values()
