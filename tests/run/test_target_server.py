"""The worker's ledger of queried targets, and the client of its child; cheats are in tests/adversaries."""

from time import perf_counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.run.channel import frame
from harness.run.messages import TargetReply
from harness.run.target_server import QUERY_POINTS, TargetClient, TargetServer
from harness.support.clocks import fit_clock

LABELS = np.where(np.arange(50) % 3 == 0, 1.0, -1.0)


@given(st.lists(st.lists(st.integers(-3, 53), max_size=8), max_size=12), st.integers(0, 50))
def test_each_target_is_served_once_and_no_more_than_the_budget(queries, budget):
    server, kept, refused = TargetServer(LABELS.copy(), budget), [], False
    for points in queries:
        sound = all(0 <= i < 50 and i not in kept for i in points) and len(set(points)) == len(points)
        found = server.query(np.array(points, dtype=np.int64))
        if sound and len(kept) + len(points) <= budget:
            kept += points
            np.testing.assert_array_equal(found, LABELS[points])
        else:
            refused = True
            assert found is None
        assert server.queried == kept
        assert bool(server.refusal) == refused


def connected(server):
    """Return a client of a server in this process."""
    client, replies = TargetClient(), []

    def emit(message):
        replies.append(TargetReply(server.query(message.indices), server.refusal))

    client.connect(emit, replies.pop)
    return client


def test_a_large_query_is_made_in_pieces_that_a_pipe_takes_whole():
    n = 3 * QUERY_POINTS + 5
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    server = TargetServer(labels.copy(), n)
    order = np.random.default_rng(0).permutation(n)
    np.testing.assert_array_equal(connected(server)(order), labels[order])
    assert server.queried == order.tolist()
    largest = frame(TargetReply(np.ones(QUERY_POINTS)), b"x" * 16)
    assert len(largest) <= 4096, "of which a socket that is not waited for takes all or nothing"


def test_what_queries_take_is_known_to_both_sides():
    client, server, asked = TargetClient(), TargetServer(LABELS.copy(), 9), []
    client.connect(asked.append, lambda: TargetReply(server.query(asked[-1].indices)))
    began, wall = perf_counter(), fit_clock()
    for index in range(2):
        client(np.array([index]))
    assert 0.0 < asked[1].waited < client.seconds
    assert fit_clock() - wall <= perf_counter() - began - client.seconds, "queries are on no clock of the solver's"
