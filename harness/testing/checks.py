"""Suites of checks: classes whose ``test_`` methods are checks with a time limit, each of which returns results.

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
from traceback import walk_stack
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from harness.support import faults
from harness.support.parameters import parameters_of
from harness.testing.running import compiler

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from harness.problems.cases import Case

LIMIT = 30.0  # time limit of a check on one problem, in seconds without compilation


class TookTooLong(BaseException):
    """A check exceeded its time limit. Not an ``Exception``, which the code of a plugin might catch."""


@dataclass(frozen=True)
class Result:
    """The result of one check on one problem.

    case : the name of the problem; empty for checks without one
    status : ``excused`` if the check failed and the `Conformance` of the plugin declares that it does
    message : why the check failed or was skipped, in a sentence
    where : the plugin's file and line; empty if unknown
    file : the file of the smallest failing problem, which ``harness check --reproduce`` reads
    error : the exception that the check raised, if any
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
    needs: Callable[[Any], object] | None = None,
    fits: Callable[[Case], object] | None = None,
    since: str = "0.1",
    seconds: float = LIMIT,
) -> Callable[[Callable[..., None]], Any]:
    """Mark a method as a check, which pytest runs on all of its cases as one test.

    Parameters
    ----------
    on : ``all`` cases, a tag of cases, or empty for a check that takes no case
    needs : returns whether the check applies to a suite; other suites do not have the check
    fits : returns whether the check applies to a case; None for all cases
    since : the first version of the harness with the check
    seconds : time limit on a case, without compilation
    """

    def decorate(function: Callable[..., None]) -> Any:
        def run(self: Checks) -> None:
            results = type(self).results(function.__name__)
            status, deciding = summed(results)
            if status == "failed":
                messages = "\n".join(result.message for result in deciding)
                error = AssertionError(f"{len(deciding)} of {len(results)} cases failed:\n{messages}")
                raise error from deciding[0].error
            if status != "passed" and not any(result.status == "passed" for result in results):
                raise unittest.SkipTest(results[0].message if results else "the suite has no case for the check")

        marked: Any = run
        marked.__name__, marked.__doc__ = function.__name__, function.__doc__
        marked.on, marked.needs, marked.fits, marked.once = on, needs, fits, function
        marked.since, marked.seconds = since, seconds
        return marked

    return decorate


def require(condition: object, message: str) -> None:
    """Raise AssertionError with a message unless the condition holds, under ``python -O`` too, which skips assert statements."""
    if not condition:
        raise AssertionError(message)


def skip_unless(condition: object, reason: str) -> None:
    """Raise unittest.SkipTest with a reason unless the condition holds."""
    if not condition:
        raise unittest.SkipTest(reason)


@contextlib.contextmanager
def naming(what: str) -> Iterator[None]:
    """Context in which the message of a failed check begins with what it failed on."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from error


class Checks:
    """A suite of checks of one thing.

    thing : the checked object; None in abstract suites
    called : the name of a thing without a ``label`` or ``name``
    excused : check -> why it may fail. An excused check that passes counts as failed
    unmet : why no check can be made here, such as a missing library; empty: they can
    slow : problem -> why no further check is made on it
    """

    kind: ClassVar[str] = ""
    thing: ClassVar[Any] = None
    called: ClassVar[str] = ""
    excused: ClassVar[Mapping[str, str]] = {}
    unmet: ClassVar[str] = ""
    slow: ClassVar[dict[str, str]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Remove the checks that do not apply to the thing, so that pytest does not list them as skipped."""
        super().__init_subclass__(**kwargs)
        cls.slow = {}
        if cls.subject() is None:
            return
        for name in cls._names():
            definitions = [definition for base in cls.__mro__ if (definition := vars(base).get(name)) is not None]
            if definitions and getattr(definitions[0], "needs", None) is not None:
                setattr(cls, name, definitions[0] if definitions[0].needs(cls) else None)

    @classmethod
    def subject(cls) -> Any:
        """Return the checked object from the class, as a function would become a method of an instance."""
        return cls.thing

    @classmethod
    def label(cls) -> str:
        """Return the name of the checked thing that users know."""
        return cls.called or str(getattr(cls.subject(), "label", "") or getattr(cls.subject(), "name", ""))

    @classmethod
    def _names(cls) -> list[str]:
        return [*dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base) if name[:5] == "test_")]

    @classmethod
    def checks(cls) -> list[str]:
        """Return the names of all checks that apply, in the order of the class body."""
        return [name for name in cls._names() if hasattr(getattr(cls, name), "once")]

    @classmethod
    def cases_of(cls, name: str) -> list[Case] | list[None]:  # noqa: ARG003 - overridden in suites of solvers
        """Return the cases that a check runs on; ``[None]`` for a check that takes no case."""
        return [None]

    @classmethod
    def results(cls, name: str) -> list[Result]:
        """Run a check and return its result on each case; exceptions of the plugin become failed results."""
        return [*cls.each(name)]

    @classmethod
    def each(
        cls, name: str, made: Container[str] = (), on_begin: Callable[[str], None] = lambda _: None
    ) -> Iterator[Result]:
        """Run a check and yield its results case by case.

        made : names of cases that are left out, as their results are known
        on_begin : called with the name of each case before the check runs on it
        """
        if cls.unmet:
            yield Result(name, "", "skipped", cls.unmet)
            return
        reason, statuses = cls.excuse(name), []
        for case in (case for case in cls.cases_of(name) if _name(case) not in made):
            on_begin(_name(case))
            result = cls.on_case(name, case)
            if reason is not None and result.status == "failed":
                result = replace(result, status="excused", message=f"excused: {reason} ({result.message})")
            statuses.append(result.status)
            yield result
        if reason is not None and "excused" not in statuses and "passed" in statuses:
            yield Result(name, "", "failed", f"the check passes, although it is excused ({reason}); remove the excuse.")

    @classmethod
    def excuse(cls, name: str) -> str | None:
        """Return why a check is excused, or None; ``excused`` may name it with or without the prefix ``test_``."""
        return cls.excused.get(name) or cls.excused.get(name.removeprefix("test_"))

    @classmethod
    def on_case(cls, name: str, case: Case | None) -> Result:
        """Run a check on one case, which need not belong to the suite."""
        checked, label = getattr(cls, name), _name(case)
        if label in cls.slow:
            return Result(name, label, "skipped", cls.slow[label])
        try:
            with limited(checked.seconds):
                checked.once(cls(), *(() if case is None else (case,)))
        except unittest.SkipTest as reason:
            return Result(name, label, "skipped", str(reason))
        except TookTooLong as error:
            return cls.stopped(name, label, f"stopped at the time limit of {checked.seconds:g} s.", error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin may raise anything
            # pytest appends the expression to the message of an assertion
            assertion = str(error).partition("\nassert ")[0] if isinstance(error, AssertionError) else ""
            message = f"{label}: " * bool(label) + (assertion or faults.format_error(error))
            return Result(name, label, "failed", message, place(cls.subject()), error=error)
        return Result(name, label, "passed")

    @classmethod
    def stopped(cls, name: str, label: str, how: str, error: BaseException | None = None) -> Result:
        """Return the failed result of a check that had to be stopped on a problem, which further checks leave out."""
        if label:
            cls.slow[label] = f"{label} is left out: {name.removeprefix('test_')} was {how}"
        return Result(name, label, "failed", f"{label or cls.label()}: {how}", place(cls.subject()), error=error)


def _name(case: Case | None) -> str:
    return "" if case is None else str(case)


class ValueChecks(Checks):
    """Checks of every solver, data source and kernel, which are frozen dataclasses of their parameters."""

    @check()
    def test_is_an_immutable_value(self) -> None:
        """The value pickles, equals its copy, hashes, and refuses changes."""
        subject: Any = self.subject()
        copy = pickle.loads(pickle.dumps(subject))
        require(copy == subject, "the unpickled copy differs from the original")
        require(hash(copy) == hash(subject), "equal values must have equal hashes")
        cls: Any = type(subject)
        for parameter in parameters_of(cls):
            try:
                setattr(subject, parameter.name, getattr(subject, parameter.name))
            except dataclasses.FrozenInstanceError:
                continue
            raise AssertionError(
                f"parameter '{parameter.name}' can be changed; declare the class with @dataclass(frozen=True)."
            )

    @check()
    def test_says_what_it_is(self) -> None:
        """The class and every parameter are documented."""
        cls: Any = type(self.subject())
        parts = {parameter.name: parameter.doc for parameter in parameters_of(cls)}
        require_documentation(cls.__name__, vars(cls).get("__doc__"), parts, "use harness.parameter(default, doc)")


class FunctionChecks(Checks):
    """Checks of every function that is registered by a name."""

    @check(since="0.2")
    def test_says_what_it_is(self) -> None:
        """The function has a docstring, which ``harness describe`` shows."""
        require_documentation(f"{self.kind} '{self.called}'", self.subject().__doc__)


def require_documentation(
    what: str, text: str | None, parts: Mapping[str, str] | None = None, advice: str = ""
) -> None:
    """Raise AssertionError unless a thing has a docstring, and each of its ``parts``, by name, a description."""
    require((text or "").strip(), f"{what} has no docstring; `harness describe` shows it.")
    undocumented = [name for name, description in (parts or {}).items() if not description]
    require(not undocumented, f"{what}: no documentation for {', '.join(undocumented)}; {advice}.")


def summed(results: Sequence[Result], status: str = "") -> tuple[str, list[Result]]:
    """Return the status of a check over all of its cases, or a given one, and the results with that status."""
    statuses = {result.status for result in results}
    status = status or next((one for one in ("failed", "excused", "passed") if one in statuses), "skipped")
    return status, [result for result in results if result.status == status]


def run_checks(suite: type[Checks], only: str = "") -> list[Result]:
    """Run the checks of a suite whose name contains ``only``, without pytest."""
    return [result for name in suite.checks() if only in name for result in suite.results(name)]


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Context that raises `TookTooLong` in the main thread after so many seconds without compilation.

    Compiled code that does not return to Python is not interrupted; `harness.testing.apart` kills its process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = compiler()
    end = watch.clock() + seconds

    def on_alarm(number: int, frame: Any) -> None:  # noqa: ARG001 - the signature of a signal handler
        remaining = end - watch.clock()
        # an import that is interrupted leaves a module that no later check can use
        importing = any(each.f_code.co_filename.startswith("<frozen importlib") for each, _ in walk_stack(frame))
        if watch.compiling or importing or remaining > 0.0:
            signal.setitimer(signal.ITIMER_REAL, max(remaining, 0.1))
            return
        raise TookTooLong

    outer, before = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.signal(signal.SIGALRM, on_alarm)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
        signal.signal(signal.SIGALRM, outer)


def place(subject: Any) -> str:
    """Return the file and line of the main method of a checked thing; empty if unknown."""
    subject = getattr(subject, "function", subject)  # that of a metric
    owner = subject if inspect.isroutine(subject) or isinstance(subject, type) else type(subject)
    method = next((function for name in _METHODS if inspect.isfunction(function := vars(owner).get(name))), owner)
    method = inspect.unwrap(method)
    try:
        return f"{inspect.getsourcefile(method)}:{inspect.getsourcelines(method)[1]}"
    except (TypeError, OSError):
        return ""


_METHODS = ("iterates", "load", "block", "from_products", "certificate", "bounded_certificate")
