"""Numbers that know where they were measured: only those of one machine, one commit and one clock are divided.

A table divides by :func:`quotient`, or :func:`ratio` and :func:`change`, which give nothing where that may not be. Under
:func:`watched` every other division of two measured numbers that may not be compared is noted, with the line that does it; so is
each sum, difference and comparison of two clocks, and each axis of a picture with both.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

Where = tuple[str | None, str | None]
"""Machine and commit of a run."""

NOT_IN_TURNS = "not in turns"

_noted: ContextVar[list[str] | None] = ContextVar("noted", default=None)
_HERE = (__file__, statistics.__file__)


class _Measured:
    """Of a measured number: ``where`` it and all that it was made of was measured, and the ``clock`` of a time."""

    where: frozenset[Where] = frozenset()
    clock: str = ""

    def of(self, where: frozenset[Where], clock: str = "") -> Self:
        """Return the number, measured there."""
        self.where, self.clock = where, clock
        return self

    def _with(self, other: Any, value: Any, *, times: bool) -> Any:
        """Return ``value``, made of this number and another; a time and a time are a time, unless they were divided."""
        if not isinstance(other, (int, float, np.number)):
            return NotImplemented
        clock = "" if times and getattr(other, "clock", "") else self.clock
        return measured(value, self.where | getattr(other, "where", frozenset()), clock or getattr(other, "clock", ""))

    def _same_clock(self, other: Any) -> None:
        clocks = {self.clock, getattr(other, "clock", "")} - {""}
        if len(clocks) > 1:
            note(f"seconds of the {' and the '.join(sorted(clocks))} clock together")


def _operator(name: str, plain: Callable[[Any, Any], Any], *, reflected: bool) -> Callable[[Any, Any], Any]:
    times = name in ("mul", "truediv")

    def operate(self: Any, other: Any) -> Any:
        value = getattr(self.plain(), f"__{'r' if reflected else ''}{name}__")(_bare(other))
        if value is NotImplemented and isinstance(other, float):
            value = plain(*((other, self.plain()) if reflected else (self.plain(), _bare(other))))
        self._same_clock(other)
        found = self._with(other, value, times=times)
        if name == "truediv" and getattr(other, "where", None) and len(self.where | other.where) > 1:
            note("a raw division of runs that were not measured in turns")
        return found

    return operate


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        self._same_clock(other)
        return getattr(float(self.plain()), name)(float(other)) if isinstance(other, (int, float)) else NotImplemented

    return compare


class MeasuredFloat(_Measured, float):
    """A measured number; it prints as any other."""

    def plain(self) -> float:
        """Return the number alone."""
        return float.__pos__(self)

    def __neg__(self) -> Any:
        return measured(-self.plain(), self.where, self.clock)

    def __abs__(self) -> Any:
        return measured(abs(self.plain()), self.where, self.clock)


class MeasuredInt(_Measured, int):
    """A measured count; it prints as any other."""

    def plain(self) -> int:
        """Return the count alone."""
        return int.__pos__(self)


for _kind in (MeasuredFloat, MeasuredInt):
    for _name, _plain in {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "truediv": lambda a, b: a / b,
    }.items():  # fmt: skip
        setattr(_kind, f"__{_name}__", _operator(_name, _plain, reflected=False))
        setattr(_kind, f"__r{_name}__", _operator(_name, _plain, reflected=True))
    for _name in ("__lt__", "__le__", "__gt__", "__ge__"):
        setattr(_kind, _name, _comparison(_name))


def _bare(value: Any) -> Any:
    return value.plain() if isinstance(value, _Measured) else value


def measured(value: Any, where: frozenset[Where], clock: str = "") -> Any:
    """Return a number with where it was measured; what is no number stays as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return (MeasuredInt(value) if isinstance(value, int) else MeasuredFloat(value)).of(where, clock)


_FIXED = frozenset({
    "seed", "cache_mb", "C", "gamma", "n_train", "n_features", "n_test", "round", "threads", "tol", "n", "d", "k", "limit",
    "primal", "dual", "margin_lower", "margin_upper",
})  # fmt: skip
"""Columns of a row that were given, or that the harness certified of the model: the same wherever it was measured."""


def located(row: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """Return a row whose measured numbers know where it was measured, those of its ``info``, metrics and trace too."""
    at = frozenset({where})

    def known(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: known(key, each) for key, each in value.items()}
        if isinstance(value, list):
            return [known(name, each) for each in value]
        return value if name in _FIXED else measured(value, at, clock_of(name))

    return {name: known(name, value) for name, value in row.items()}


def clock_of(name: str) -> str:
    """Return the clock of a column: ``CPU``, ``wall``, or none; of ``info``'s times those that say so in their name."""
    if "cpu" in name:
        return "CPU"
    return "wall" if name in ("seconds", "fit_seconds", "elapsed") else ""


# -- dividing ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quotient:
    """A ratio of two measured numbers, or why there is none: ``not in turns``, or nothing where one was not measured."""

    value: float | None
    remark: str = ""

    def told(self, form: str = ".2f") -> str:
        """Return a cell: the number, or the remark."""
        return self.remark if self.value is None else format(self.value, form)


def quotient(above: float | None, below: float | None) -> Quotient:
    """Return ``above`` / ``below`` if both are of one machine, one commit and one clock; a number of a paper is of all."""
    if above is None or not below:
        return Quotient(None)
    where = _where(above) | _where(below)
    clocks = {each.clock for each in (above, below) if isinstance(each, _Measured)} - {""}
    if len(clocks) > 1:
        note(f"seconds of the {' and the '.join(sorted(clocks))} clock divided")
        return Quotient(None, "not of one clock")
    if len(where) > 1:
        return Quotient(None, NOT_IN_TURNS)
    return Quotient(measured(_bare(above) / _bare(below), where))


def ratio(above: float | None, below: float | None) -> float | None:
    """Return the value of :func:`quotient`."""
    return quotient(above, below).value


def change(before: float | None, after: float | None) -> float | None:
    """Return the relative variation (after - before) / before in percent, None where it has no meaning or no ground."""
    found = ratio(after, before)
    return None if found is None else 100.0 * (found - 1.0)


def _where(value: Any) -> frozenset[Where]:
    return value.where if isinstance(value, _Measured) else frozenset()


def together(over: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``over``, which makes one number of several, such that its result knows where these were measured."""

    def made(values: Any, *rest: Any, **named: Any) -> Any:
        values = list(values) if isinstance(values, Iterable) and not isinstance(values, np.ndarray) else values
        found = over(values, *rest, **named)
        known = [each for each in values if isinstance(each, _Measured)] if isinstance(values, list) else []
        if not known:
            return found
        clocks = {each.clock for each in known} - {""}
        if len(clocks) > 1:
            note(f"seconds of the {' and the '.join(sorted(clocks))} clock in one average")
        where = frozenset().union(*(each.where for each in known))
        value = found.item() if isinstance(found, np.generic) else found
        return measured(_bare(value), where, min(clocks, default=""))

    return made


mean, median, stdev = (together(each) for each in (statistics.mean, statistics.median, statistics.stdev))

# -- watching ----------------------------------------------------------------------------------------------


def note(what: str) -> None:
    """Note what is amiss with the line that does it, while somebody watches."""
    noted = _noted.get()
    if noted is None:
        return
    frame = sys._getframe(1)  # noqa: SLF001  the one way to the line
    while frame.f_back is not None and (frame.f_code.co_filename in _HERE or "numpy" in frame.f_code.co_filename):
        frame = frame.f_back
    place = f"{Path(frame.f_code.co_filename).parent.name}/{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
    noted.append(f"{place}: {what}")


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Note, while the body runs, what divides, adds, compares or draws measured numbers that do not belong together.

    Averages of the standard library and of numpy keep what the numbers know, in all modules of reports.
    """
    found: list[str] = []
    token = _noted.set(found)
    averages = {getattr(statistics, name): name for name in ("mean", "fmean", "median", "stdev")}
    with contextlib.ExitStack() as stack:
        for module in [each for name, each in sys.modules.items() if name.startswith("reports.") and name != __name__]:
            for name, value in list(vars(module).items()):
                if callable(value) and getattr(value, "__module__", "") == "statistics" and value in averages:
                    stack.callback(setattr, module, name, value)
                    setattr(module, name, together(value))
        for name in ("mean", "median", "max", "min", "sum"):
            stack.callback(setattr, np, name, getattr(np, name))
            setattr(np, name, together(getattr(np, name)))
        stack.enter_context(_axes_watched())
        try:
            yield found
        finally:
            _noted.reset(token)


_DRAWN = {
    "plot": "xy", "scatter": "xy", "bar": "xy", "errorbar": "xy", "step": "xy", "fill_between": "xy", "barh": "yx", "axhline": "y",
    "axvline": "x",
}  # fmt: skip
"""Methods of a picture's axes, and the axes that their first arguments belong to."""


@contextlib.contextmanager
def _axes_watched() -> Iterator[None]:
    """Note each axis on which times of two clocks are drawn; nothing is written to a file."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    def watching(name: str, method: Any) -> Any:
        def draw(self: Any, *arguments: Any, **named: Any) -> Any:
            given = dict(zip(_DRAWN[name], arguments, strict=False)) | {
                k: v for k, v in named.items() if k in ("x", "y")
            }
            drawn = self.__dict__.setdefault("_clocks_drawn", {"x": set(), "y": set()})
            for side, values in given.items():
                drawn[side] |= _clocks(values)
                if len(drawn[side]) > 1:
                    note(f"seconds of the {' and the '.join(sorted(drawn[side]))} clock on one axis")
            return method(self, *arguments, **named)

        return draw

    with contextlib.ExitStack() as stack:
        for name in _DRAWN:
            stack.callback(setattr, Axes, name, getattr(Axes, name))
            setattr(Axes, name, watching(name, getattr(Axes, name)))
        stack.callback(setattr, Figure, "savefig", Figure.savefig)
        Figure.savefig = lambda self, path, **_: Path(path).touch()  # type: ignore[method-assign, assignment]
        yield


def _clocks(values: Any) -> set[str]:
    """Return the clocks of the numbers in what is drawn."""
    if isinstance(values, _Measured):
        return {values.clock} - {""}
    if isinstance(values, (list, tuple)) or type(values).__name__ in ("dict_values", "dict_keys"):
        return set().union(*(_clocks(each) for each in values))
    return set()
