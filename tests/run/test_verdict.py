"""How the host words what it saw of a child: its output, and what was done to it from outside."""

import os

import pytest

from harness import Status
from harness.run.messages import FitResult
from harness.run.record import Claims
from harness.run.watch import Observed, verdict
from tests.run.conftest import SPEC


@pytest.mark.parametrize(("status", "found"), [("ok", "ok"), ("error", "environment"), ("memory", "environment")])
@pytest.mark.parametrize("seen", [{"was_stopped": True}, {"constraints": "niceness of its process is 19 and was 0"}])
def test_a_run_that_failed_after_something_was_done_to_it_from_outside_is_the_machines_fault(status, found, seen):
    claims = verdict(Observed(fitted=FitResult(Claims(status=Status(status), reason="no luck")), **seen), SPEC)
    assert (claims.status, "no luck" in claims.reason) == (found, True)


def test_of_what_a_child_prints_the_end_is_kept():
    seen, (out, into) = Observed(), os.pipe()
    for number in range(40):
        os.write(into, f"{number:02d}".encode() * 1000)
        seen.drain(out)
    os.close(into)
    os.close(out)
    assert seen.output.endswith("3939")
    assert (seen.output_bytes, len(seen.output) < 5_000) == (80_000, True)
