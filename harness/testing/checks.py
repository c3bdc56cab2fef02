"""What a suite of checks is: a class whose ``test_`` methods are checks. Each has a time limit and gives results.

A check of a solver runs on several problems (`harness.testing.suite`), a check of any other thing once
(`harness.testing.things`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import pickle
import signal
import threading
import unittest
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from harness.support import faults
from harness.support.parameters import parameters_of
from harness.testing.running import compiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from harness.problems.cases import Case

LIMIT = 30.0  # seconds that a check may take on one problem, compilation not counted
_HANGS = 2  # so many checks that end by their limit are enough: the others would too


class TookTooLong(BaseException):
    """A check took too long. It is no ``Exception``, as the code of a plugin may catch those."""


@dataclass(frozen=True)
class Result:
    """What one check found on one problem.

    case : the problem; empty for checks that need none
    status : ``excused`` where it failed, as the thing's `Conformance` says that it does
    message : why it failed, or was not made, in a sentence
    where : the plugin's file and line, as far as they can be told
    file : with the smallest failing problem, which ``harness check --reproduce`` reads
    error : what was raised, where something was
    """

    check: str
    case: str
    status: Literal["passed", "failed", "excused", "skipped"]
    message: str = ""
    where: str = ""
    file: str = ""
    error: BaseException | None = field(default=None, compare=False)


def check(
    *,
    on: str = "",
    needs: Callable[[Any], bool] | None = None,
    fits: Callable[[Case], bool] | None = None,
    since: str = "0.1",
    seconds: float = LIMIT,
) -> Callable[[Callable[..., None]], Any]:
    """Mark a method as a check: pytest makes it on all cases that it is for, as one test.

    Parameters
    ----------
    on : ``all`` cases, those with a tag, or empty for a check that takes no case
    needs : whether a suite can make the check; one that cannot does not have it
    fits : whether the check can be made on a case; None: on all
    since : the version of the harness that has it first
    seconds : that it may take on a case, compilation not counted
    """

    def decorate(function: Callable[..., None]) -> Any:
        def made(self: Checks) -> None:
            found = type(self).results(function.__name__)
            status, deciding = summed(found)
            if status == "failed":
                told = "\n".join(result.message for result in deciding)
                raise AssertionError(f"{len(deciding)} of {len(found)} cases failed:\n{told}") from deciding[0].error
            if status != "passed" and not any(result.status == "passed" for result in found):
                raise unittest.SkipTest(found[0].message if found else "the suite has no case that the check is for")

        marked: Any = made
        marked.__name__, marked.__doc__ = function.__name__, function.__doc__
        marked.on, marked.needs, marked.fits, marked.once = on, needs, fits, function
        marked.since, marked.seconds = since, seconds
        return marked

    return decorate


class Checks:
    """A suite of checks of one thing.

    thing : what is checked; None of a suite that is none yet
    called : what users call the thing, where it has no label or name of its own
    excused : check -> why it is allowed to fail. An excused check that passes counts as failed
    """

    kind: ClassVar[str] = ""
    thing: ClassVar[Any] = None
    called: ClassVar[str] = ""
    excused: ClassVar[Mapping[str, str]] = {}
    _hangs: ClassVar[int] = 0

    def __init_subclass__(cls, **further: Any) -> None:
        """Leave out the checks that cannot be made of this thing: a test that can only be skipped says nothing."""
        super().__init_subclass__(**further)
        cls._hangs = 0
        if cls.subject() is None:
            return
        for name in cls._names():
            known = [found for base in cls.__mro__ if (found := vars(base).get(name)) is not None]
            if known and getattr(known[0], "needs", None) is not None:
                setattr(cls, name, known[0] if known[0].needs(cls) else None)

    @classmethod
    def subject(cls) -> Any:
        """Return what is checked, of the class: a function would be a method of its instances."""
        return cls.thing

    @classmethod
    def label(cls) -> str:
        """Return what is checked as a user calls it."""
        return cls.called or str(getattr(cls.subject(), "label", "") or getattr(cls.subject(), "name", ""))

    @classmethod
    def note_hang(cls, hung: bool = True) -> None:
        """Count a drive or a check that took too long; after two, the remaining checks are not made."""
        cls._hangs += hung

    @classmethod
    def _names(cls) -> list[str]:
        return [*dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base) if name[:5] == "test_")]

    @classmethod
    def checks(cls) -> list[str]:
        """Names of all checks that can be made, in the order of the class body."""
        return [name for name in cls._names() if hasattr(getattr(cls, name), "once")]

    @classmethod
    def cases_of(cls, name: str) -> list[Case] | list[None]:  # noqa: ARG003 - a suite of a solver asks for it
        """Return the cases that a check is made on; of one that takes no case, None alone."""
        return [None]

    @classmethod
    def results(cls, name: str) -> list[Result]:
        """Make a check and return what it found on each of its cases; nothing that a plugin raises passes through."""
        return [*cls.each(name)]

    @classmethod
    def each(cls, name: str) -> Iterator[Result]:
        """Make a check, case by case."""
        reason, found = cls.excuse(name), []
        for case in cls.cases_of(name):
            result = cls.on_case(name, case)
            if reason is not None and result.status == "failed":
                result = replace(result, status="excused", message=f"excused: {reason} ({result.message})")
            found.append(result.status)
            yield result
        if reason is not None and "excused" not in found and "passed" in found:
            yield Result(name, "", "failed", f"it passes, although it is excused ({reason}); remove the excuse.")

    @classmethod
    def excuse(cls, name: str) -> str | None:
        """Return why a check fails, and may; its name may be given with ``test_`` before it or without."""
        return cls.excused.get(name) or cls.excused.get(name.removeprefix("test_"))

    @classmethod
    def on_case(cls, name: str, case: Case | None) -> Result:
        """Make a check on one case, which need be none of the suite's."""
        made, label = getattr(cls, name), "" if case is None else str(case)
        if cls._hangs >= _HANGS:
            return Result(name, label, "skipped", f"not made: {_HANGS} checks before it took too long")
        try:
            with limited(made.seconds):
                made.once(cls(), *(() if case is None else (case,)))
        except unittest.SkipTest as reason:
            return Result(name, label, "skipped", str(reason))
        except TookTooLong as error:
            cls.note_hang()
            told = f"{label or cls.label()}: did not end within {made.seconds:g} s, and stopped there."
            return Result(name, label, "failed", told, place(cls.subject()), error=error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin may raise anything, and that is the finding
            own = str(error).partition("\nassert ")[0] if isinstance(error, AssertionError) else ""  # pytest adds to it
            told = own or faults.format_error(error)
            return Result(name, label, "failed", told, place(cls.subject()), error=error)
        return Result(name, label, "passed")


class ValueChecks(Checks):
    """What holds for every solver, data source and kernel: they are values, frozen dataclasses of their parameters."""

    @check()
    def test_is_an_immutable_value(self) -> None:
        """It pickles, compares equal to its copy, hashes, and refuses changes."""
        subject: Any = self.subject()
        copy = pickle.loads(pickle.dumps(subject))
        assert copy == subject, "the unpickled one differs from the original"
        assert hash(copy) == hash(subject), "equal ones must have equal hashes"
        own: Any = type(subject)
        for known in parameters_of(own):
            try:
                setattr(subject, known.name, getattr(subject, known.name))
            except dataclasses.FrozenInstanceError:
                continue
            raise AssertionError(
                f"parameter '{known.name}' can be changed; declare the class with @dataclass(frozen=True)."
            )

    @check()
    def test_says_what_it_is(self) -> None:
        """The class, and every parameter, is documented."""
        cls: Any = type(self.subject())
        assert (vars(cls).get("__doc__") or "").strip(), (
            f"{cls.__name__} has no docstring; `harness describe` shows it."
        )
        silent = [known.name for known in parameters_of(cls) if not known.doc]
        assert not silent, (
            f"{cls.__name__}: no documentation for {', '.join(silent)}; use harness.parameter(default, doc)."
        )


def summed(results: Sequence[Result]) -> tuple[str, list[Result]]:
    """Return the status of a check on all of its cases, and the results that decide it."""
    statuses = {result.status for result in results}
    status = next((each for each in ("failed", "excused", "passed") if each in statuses), "skipped")
    return status, [result for result in results if result.status == status]


def run_checks(suite: type[Checks], only: str = "") -> list[Result]:
    """Make the checks of a suite whose name contains ``only``, without pytest."""
    return [result for name in suite.checks() if only in name for result in suite.results(name)]


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Context that ends with `TookTooLong` after so many seconds beside compilation, in the main thread.

    Compiled code that does not come back to Python is not ended by it: who makes checks in a process of its own ends that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = compiler()
    end = watch.clock() + seconds

    def late(number: int, frame: Any) -> None:  # noqa: ARG001 - a handler takes them
        left = end - watch.clock()
        if watch.compiling or left > 0.0:
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.1))
            return
        raise TookTooLong

    outer, before = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.signal(signal.SIGALRM, late)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
        signal.signal(signal.SIGALRM, outer)


def place(subject: Any) -> str:
    """Return the file and line of the method of what is checked that does its work, empty if they cannot be told."""
    own = subject if inspect.isroutine(subject) or isinstance(subject, type) else type(subject)
    method = next((found for name in _METHODS if inspect.isfunction(found := vars(own).get(name))), own)
    method = inspect.unwrap(method)
    try:
        return f"{inspect.getsourcefile(method)}:{inspect.getsourcelines(method)[1]}"
    except (TypeError, OSError):
        return ""


_METHODS = ("iterates", "load", "block", "from_products", "certificate", "bounded_certificate")
