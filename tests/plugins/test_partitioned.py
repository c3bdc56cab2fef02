"""RandSVM-1 and Frank-Wolfe over parts: one model whoever makes the passes, the host's certificate, twins of the passes, faults."""

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
from harness_sampling import PartitionedFW, PartitionedRandSVM, partitioned
from harness_sampling.partitioned import PartitionedModel, score_part
from harness_sampling.partitioned_fw import farthest_of_part
from harness_sampling.solvers import RandSVM1

from harness import CSVC, RBF, DataError, HarnessError, Linear, PartitionedData, Poly, UsageError, get_solver
from harness.problems import L2SVC
from tests.datasets.test_chunks import in_parts
from tests.plugins.common import build

N = 3000
SIZES = (400, 1, 1200, 0, 399, 1000)
OPTIONS = RandSVM1(oracle="smo-block", k=500, c=1.0)


def checkerboard(n=N, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 3.0, (n, 2)).astype(np.float32)
    return x, np.where(np.floor(x).sum(axis=1) % 2 == 0, 1.0, 0.0)


def fitted(data, executor=None, kernel=None, C=10.0, seed=1, folder=None, **options):
    solver = PartitionedRandSVM(kernel or RBF(gamma=2.0), C, options=OPTIONS.replace(**options), seed=seed)
    return solver.fit(data, executor, folder=folder)


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
        seconds = 0.0 if isinstance(part, str) else 0.01 * (6 - int(part.path[-5]))
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


class Stopping(ThreadPoolExecutor):
    """Counts the parts that are scored, and fails, or deletes a part's file, after a number of them."""

    def __init__(self, most=10_000, doomed=None):
        super().__init__(1)
        self.most, self.doomed, self.scored = most, doomed, 0

    def submit(self, function, part, *rest):
        self.scored += function is score_part
        if self.scored > self.most:
            if self.doomed is None:
                raise RuntimeError("the machine is gone")
            self.doomed.unlink(missing_ok=True)
        return super().submit(function, part, *rest)


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    return in_parts(tmp_path_factory.mktemp("board") / "parts", *checkerboard(), sizes=SIZES)


@pytest.fixture(scope="module")
def alone(board):
    fit = fitted(PartitionedData(board, 512))
    assert (fit.status, len(fit.rounds) > 2) == ("gap", True)
    return fit


def test_the_model_is_one_whoever_makes_the_passes_and_in_whatever_order_they_end(board, alone):
    context = get_context("forkserver")
    context.set_forkserver_preload(["harness_sampling.partitioned"])
    for pool in (Backwards(6), ProcessPoolExecutor(3, mp_context=context)):
        with pool:
            assert figures(fitted(PartitionedData(board, 512, executor=pool), pool)) == figures(alone)
    assert figures(fitted(PartitionedData(board, 512), seed=2)) != figures(alone)


@pytest.mark.parametrize("sizes", [(N,), (1500, 1500), (37,) * 81 + (3,)])
def test_it_is_that_of_one_part_to_the_last_support_vector(tmp_path, alone, sizes):
    found = fitted(in_parts(tmp_path / "parts", *checkerboard(), sizes=sizes))
    assert figures(found)[4] == figures(alone)[4]
    assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-12)
    assert [each.violators for each in found.rounds] == [each.violators for each in alone.rounds]


PROBLEMS = {  # name -> what is stated, options, status
    "rbf": ({}, {}, "gap"),
    "float64 throughout": ({}, {"gap": 1e-6, "tau": None}, "gap"),
    "no tau": ({}, {"gap": 1e-2, "tau": 10.0}, "gap"),
    "linear": ({"kernel": Linear(), "C": 0.01}, {"k": 2000}, "gap"),
    "poly": ({"kernel": Poly(degree=3, gamma=0.5, coef0=1.0), "C": 0.1}, {"k": 2000}, "gap"),
    "few support vectors": ({}, {"k": 60, "c": 2.0}, "k support vectors"),
    "rounds": ({}, {"max_rounds": 2}, "max_rounds"),
}


@pytest.mark.parametrize("suffix", [".npy", ".libsvm"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_certificate_is_the_hosts_over_all_points(tmp_path, name, suffix):
    (given, options, status), (x, y) = PROBLEMS[name], checkerboard(900, 3)
    if suffix == ".libsvm":
        x = np.column_stack([x, np.zeros((900, 8))])  # sparse enough for CSR
        x[-1, -1] = 1.0
    data = PartitionedData(in_parts(tmp_path / "parts", x, y, suffix, (300, 500, 100)), 128)
    given = {"kernel": RBF(gamma=2.0), "C": 10.0, **given}
    fit = fitted(data, **given, **options)
    assert scipy.sparse.issparse(next(iter(data))[0]) == (suffix == ".libsvm")
    points = x.astype(np.float64)
    problem, coef = build(CSVC, points, np.where(y > 0, 1.0, -1.0), **given), np.zeros(900)
    coef[fit.model.rows] = fit.model.coef
    host = problem.certify(coef, fit.model.intercept)
    for figure in ("primal", "dual", "relative_gap"):
        assert getattr(fit.certificate, figure) == pytest.approx(getattr(host, figure), rel=1e-9, abs=1e-9)
    assert (fit.rounds[-1].exact, fit.status) == (True, status)
    assert status != "gap" or host.relative_gap <= options.get("gap", OPTIONS.gap)
    scores = problem.kernel.expand(coef) + fit.model.intercept
    np.testing.assert_allclose(fit.model.decision_function(points), scores, atol=1e-8)
    assert fit.kernel_evaluations == sum(each.oracle_evaluations + each.pass_evaluations for each in fit.rounds)
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
        first_of_all = sorted(violators)[:20]
        assert (found.violators, found.rows.tolist()) == (len(violators), [row for _, row in first_of_all])
        assert found.keys.tolist() == [key for key, _ in first_of_all]
        assert found.loss == pytest.approx(math.fsum(losses), rel=1e-9 if error != 1e-3 else 1e-3)
        pieces = sum(min(256, len(y)) for _, y in part)  # float32 is tried on these, both ways
        assert found.evaluations == (len(x) + (0 if error is None else 2 * pieces)) * len(model.coef)


def test_a_sample_without_a_class_gets_one_of_it(tmp_path):
    x, y = checkerboard(400)
    y[:] = np.arange(400) == 250
    assert 250 in fitted(in_parts(tmp_path / "parts", x, y, sizes=(200, 200)), k=20, C=1.0).model.rows


@pytest.mark.parametrize("most", [0, 4, 9])
def test_a_fit_goes_on_from_its_folder_to_the_same_model(tmp_path, board, alone, most):
    data = PartitionedData(board, 512)
    with Stopping(most) as pool, pytest.raises(HarnessError, match="the machine is gone"):
        fitted(data, pool, folder=str(tmp_path))
    stored = len(list(tmp_path.glob("*/pass-*-part-*.npz")))
    with Stopping() as pool:
        assert figures(fitted(data, pool, folder=str(tmp_path))) == figures(alone)
    total = len(list(tmp_path.glob("*/pass-*-part-*.npz")))
    assert pool.scored == total - max(stored, len(SIZES)), "the first pass scores nothing"
    with Stopping(0) as pool:
        assert figures(fitted(data, pool, folder=str(tmp_path))) == figures(alone)


def test_a_folder_is_not_used_for_other_data_or_parameters_and_a_damaged_file_is_computed_again(tmp_path, board, alone):
    folder, data = tmp_path / "stored", PartitionedData(board, 512)
    assert figures(fitted(data, folder=str(folder))) == figures(alone)
    x, y = checkerboard()
    y[0] = 1.0 - y[0]
    other = PartitionedData(in_parts(tmp_path / "parts", x, y, sizes=SIZES), 512)
    for changed, options in ((data, {"seed": 2}), (data, {"C": 9.0}), (data, {"gap": 1e-2}), (other, {})):
        assert figures(fitted(changed, folder=str(folder), **options)) == figures(fitted(changed, **options))
    assert len(list(folder.iterdir())) == 5
    for path in folder.glob("*/*.npz"):
        path.write_bytes(path.read_bytes()[:100])
    assert figures(fitted(data, folder=str(folder))) == figures(alone)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        fitted(data, folder=str(tmp_path / "file"))
    doomed = Path(other.parts[4].path)
    with Stopping(8, doomed) as pool, pytest.raises(DataError, match="there is no file"):
        fitted(other, pool)


def test_progress_has_a_sentence_for_each_sample_and_part(board, alone, monkeypatch, capsys):
    lines, rounds = [], len(alone.rounds)
    PartitionedRandSVM(RBF(gamma=2.0), 10.0, options=OPTIONS, seed=1).fit(
        PartitionedData(board, 512), progress=lines.append
    )
    assert lines[0] == "3,000 points in 6 parts"
    assert sum("smo-block solves a sample of" in each for each in lines) == rounds
    assert f"round {rounds}: part 6 is done, 6 of 6" in lines
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


# -- Frank-Wolfe ---------------------------------------------------------------------------------------------------------

M = 2000
FW_SIZES = (700, 1, 300, 0, 999)


def overlapping(seed, d, share=0.3):
    """Two classes that overlap along a random direction, in float32 as files have them."""
    rng = np.random.default_rng(seed)
    x, direction = rng.normal(size=(M, d)).astype(np.float32), rng.normal(size=d)
    return x, np.where(x @ direction + rng.normal(size=M) > np.quantile(x @ direction, 1 - share), 1.0, -1.0)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return in_parts(tmp_path_factory.mktemp("drawn") / "parts", *overlapping(3, 7), sizes=FW_SIZES)


def test_the_model_of_frank_wolfe_is_one_in_whatever_order_the_parts_end(drawn):
    fit = PartitionedFW(C=0.1, count=50).fit(PartitionedData(drawn, 256))
    assert (fit.status, len(fit.rounds) > 2) == ("gap", True)
    with Backwards(5) as pool:
        assert figures(PartitionedFW(C=0.1, count=50).fit(PartitionedData(drawn, 256), pool)) == figures(fit)
    assert figures(PartitionedFW(C=0.1, count=50, seed=1).fit(drawn)) != figures(fit)
    short = PartitionedFW(C=0.1, count=5, max_rounds=2).fit(drawn)
    assert (short.status, len(short.rounds)) == ("max_rounds", 2)
    assert short.rounds[1].dual < short.rounds[0].dual  # the hulls' points only come nearer


@pytest.mark.parametrize(("kernel", "d", "C"), [(Linear(), 4, 1e-3), (Linear(), 20, 10.0), (RBF(gamma=0.3), 3, 2.0)])
def test_the_certificate_is_the_hosts_over_all_points_and_the_value_that_of_one_machine(tmp_path, kernel, d, C):
    x, y = overlapping(d, d)
    fit = PartitionedFW(kernel, C, gap=1e-4, count=100).fit(in_parts(tmp_path / "parts", x, y, sizes=FW_SIZES))
    problem, coef = build(L2SVC, x.astype(np.float64), y, kernel, C=C), np.zeros(M)
    coef[fit.model.rows] = fit.model.coef
    found = problem.certify(coef, fit.model.intercept)
    assert fit.status == "gap"
    assert found.relative_gap <= 1e-4
    for name in ("primal", "dual", "relative_gap", "margin_lower", "margin_upper"):
        assert getattr(fit.certificate, name) == pytest.approx(getattr(found, name), rel=1e-6, abs=1e-9), name
    whole = get_solver("smo-block", gap=1e-6).solve(problem)
    assert fit.certificate.dual == pytest.approx(problem.certify(whole.dual_coef, whole.intercept).dual, rel=2e-4)
    agree = np.sign(fit.model.decision_function(x)) == np.sign(problem.scores_new(whole.dual_coef, whole.intercept, x))
    assert agree.mean() > 0.99


def test_the_pass_of_frank_wolfe_does_what_its_twin_does(drawn):
    rng, (x, y) = np.random.default_rng(5), overlapping(3, 7)
    x = x.astype(np.float64)
    support = np.sort(rng.choice(M, 30, replace=False))
    model = PartitionedModel(Linear(), x[support], support, y[support] * rng.uniform(size=30), 0.0)
    inside, data, reach = np.sort(rng.choice(M, 500, replace=False)), PartitionedData(drawn, 100), (1.0, -0.5)
    reaches = y * (x @ (model.coef @ model.support_vectors))
    for part, start in zip(data.parts, data.starts, strict=True):
        found = farthest_of_part(part, int(start), model, inside[inside >= start], reach, 9)
        rows, beyond = [row for row in range(start, start + part.n) if row not in inside], 0
        for k, sign in enumerate((1.0, -1.0)):
            own = sorted((reaches[row], row) for row in rows if y[row] == sign and reaches[row] < reach[k])
            beyond += len(own)
            assert found.rows[k].tolist() == [row for _, row in own[:9]]
            np.testing.assert_allclose(found.reaches[k], [value for value, _ in own[:9]], rtol=1e-12)
        assert found.beyond == beyond
