"""Typed parameters: the fields of a frozen dataclass, validated, documented and readable from text.

Solvers, kernels and data sources share this module, so ``lasvm[epochs=2]`` and
``checkerboard[n=1000]`` are read and refused in the same words. Types and ranges are checked by
msgspec, imported on first use only.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from harness.support.errors import PluginError, UsageError

_CONSTRAINTS = ("gt", "ge", "lt", "le")
_UNIONS = (typing.Union, types.UnionType)


def parameter(
    default: Any,
    doc: str,
    *,
    gt: float | None = None,
    ge: float | None = None,
    lt: float | None = None,
    le: float | None = None,
    stands_for: str = "",
    kw_only: bool = False,
) -> Any:
    """Declare a dataclass field with its meaning and its range.

    ``epsilon: float = parameter(1e-3, "relative margin accuracy", gt=0, lt=1)``. A plain
    ``epsilon: float = 1e-3`` works too; it is only undocumented and unbounded.

    stands_for : another parameter of the same class, whose default is none. While it is none, this one is its value
    kw_only : whether it is given by name alone, and listed after the others: a base class can declare it before its subclasses do
    """
    bounds = {"gt": gt, "ge": ge, "lt": lt, "le": le}
    given = {key: value for key, value in bounds.items() if value is not None}
    metadata = {"doc": doc, "stands_for": stands_for, **given}
    return dataclasses.field(default=default, metadata=metadata, kw_only=kw_only)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter as ``harness describe`` shows it."""

    name: str
    type: Any  # the annotation
    default: Any
    doc: str
    bounds: Mapping[str, float]
    stands_for: str = ""  # another parameter, which has this one's value while it is none

    @property
    def range(self) -> str:
        """The range in interval notation, e.g. ``(0, 1)``; empty if unbounded."""
        if not self.bounds:
            return ""
        bounds = self.bounds
        left = f"({bounds['gt']:g}" if "gt" in bounds else f"[{bounds['ge']:g}" if "ge" in bounds else "(-inf"
        right = f"{bounds['lt']:g})" if "lt" in bounds else f"{bounds['le']:g}]" if "le" in bounds else "inf)"
        return f"{left}, {right}"

    @property
    def type_name(self) -> str:
        """The annotation in words: ``int``, ``float or None``, ``'random' or 'active'``."""
        return type_name(self.type)

    @property
    def expected(self) -> str:
        """The type and the range in words, and how a value is written where that is not plain."""
        written = {"bool": ", written yes or no", "tuple of": ", written (1,2)"}
        in_range = f" in {self.range}" if self.range else ""
        return self.type_name + in_range + "".join(text for word, text in written.items() if word in self.type_name)

    @functools.cached_property
    def bounded_type(self) -> Any:
        """The annotation as msgspec has it: floats are finite, numbers in their range."""
        return _bounded(self.type, self.bounds)


def type_name(annotation: Any) -> str:
    """Return an annotation as a reader would say it."""
    if annotation is type(None):
        return "none"
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Literal:
        return " or ".join(repr(argument) for argument in arguments)
    if typing.get_origin(annotation) is tuple:
        return f"tuple of {type_name(arguments[0])}"
    if arguments:
        return " or ".join(type_name(argument) for argument in arguments)
    if _is_enum(annotation):
        return " or ".join(repr(member.value) for member in annotation)
    return "path" if annotation is Path else getattr(annotation, "__name__", str(annotation))


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Enum)


@functools.cache
def parameters_of(cls: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a dataclass in the order of their declaration, the keyword-only ones last."""
    parameters = []
    for field in sorted(dataclasses.fields(cls), key=lambda field: bool(field.kw_only)):
        if not field.init:
            continue
        default = field.default
        if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        bounds = {key: field.metadata[key] for key in _CONSTRAINTS if key in field.metadata}
        doc, stands_for = (str(field.metadata.get(key, "")) for key in ("doc", "stands_for"))
        parameters.append(Parameter(field.name, _annotation(cls, field), default, doc, bounds, stands_for))
    return tuple(parameters)


def _annotation(cls: type, field: dataclasses.Field[Any]) -> Any:
    """Return a field's type; those of class variables are not evaluated, as they may be unimportable."""
    if not isinstance(field.type, str):
        return field.type
    home = next(base for base in cls.__mro__ if field.name in vars(base).get("__annotations__", {}))
    namespace = {**vars(typing), **vars(sys.modules[home.__module__])}
    try:
        return eval(field.type, namespace)  # as typing.get_type_hints does
    except Exception as error:
        raise PluginError(
            f"{cls.__name__} has a parameter '{field.name}' of the type {field.type!r:.80}, which cannot be evaluated ({error}); "
            "import its names at the top of the module."
        ) from None


def validated(cls: type, values: Mapping[str, Any], *, owner: str) -> dict[str, Any]:
    """Return ``values`` converted to the types of ``cls``'s fields.

    Parameters
    ----------
    values : parameter name -> value; text is read ('2', '1e-3', 'true', 'none')
    owner : what the message calls the thing, e.g. ``solver 'lasvm'``

    Raises
    ------
    UsageError : unknown names (with the nearest known ones) and values of the wrong type or range, all of them.
    """
    import msgspec

    known = {parameter_.name: parameter_ for parameter_ in parameters_of(cls)}
    result, wrong = {}, list[str]()
    for name, value in values.items():
        if name not in known:
            listing = ", ".join(known) or "none"
            wrong.append(
                f"{owner} has no parameter '{name}'{did_you_mean(name, known)}; its parameters are: {listing}."
            )
            continue
        try:
            data = _as_msgspec_data(value, known[name].type)
            result[name] = msgspec.convert(data, known[name].bounded_type, strict=False, dec_hook=_instance)
        except msgspec.ValidationError:
            wrong.append(f"{owner}: parameter {name}={value!r:.80} is not valid; expected {known[name].expected}.")
        except TypeError as error:
            raise PluginError(
                f"{owner}: parameter {name} has the type {known[name].type_name}, which cannot be checked ({error}); use int, float, "
                "bool, str, Path, a Literal, an Enum of texts or of whole numbers, a tuple of one of these, or one of these or None."
            ) from None
    if wrong:
        raise UsageError(" ".join(wrong))
    return result


def _bounded(annotation: Any, bounds: Mapping[str, float]) -> Any:
    from msgspec import Meta

    arguments = typing.get_args(annotation)
    if annotation is int:
        whole: Any = {name: int(bound) if float(bound).is_integer() else bound for name, bound in bounds.items()}
        return typing.Annotated[int, Meta(**whole)]
    if annotation is float:
        lower = {} if {"gt", "ge"} & bounds.keys() else {"ge": -sys.float_info.max}
        upper = {} if {"lt", "le"} & bounds.keys() else {"le": sys.float_info.max}
        finite: Any = {**lower, **upper, **bounds}
        return typing.Annotated[float, Meta(**finite)]
    if typing.get_origin(annotation) is tuple:
        return tuple.__class_getitem__(tuple(_bounded(argument, bounds) for argument in arguments))
    if typing.get_origin(annotation) in _UNIONS:
        return typing.Union[tuple(_bounded(argument, bounds) for argument in arguments)]  # noqa: UP007
    return annotation


def _as_msgspec_data(value: Any, annotation: Any) -> Any:
    """Return a value as msgspec reads it: ``none`` as None, ``(1,2)`` and an array as a list, an enum's member as its value."""
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # of numpy, whose scalars have it too
        return value.tolist()
    kinds = typing.get_args(annotation) if typing.get_origin(annotation) in _UNIONS else (annotation,)
    if isinstance(value, str) and type(None) in kinds and value.lower() in ("none", "null"):
        return None
    if isinstance(value, str) and bool in kinds and str not in kinds:
        return _WORDS.get(value.lower(), value)
    if isinstance(value, str) and any(typing.get_origin(kind) is tuple for kind in kinds):
        parts = value.strip().removeprefix("(").removesuffix(")").split(",")
        return [part.strip() for part in parts if part.strip()]
    return value


_WORDS = {"yes": True, "on": True, "no": False, "off": False}  # beside true, false, 1 and 0


def _instance(cls: Any, value: Any) -> Any:
    """Return a value as an instance of a class that msgspec does not know."""
    if cls is Path and isinstance(value, str):
        return Path(value)
    if not isinstance(value, cls):
        raise TypeError(value)
    return value


def check_defaults(cls: type, *, owner: str) -> None:
    """Refuse a class with a default that its field does not accept.

    Raises
    ------
    UsageError : with the parameter, its default and what was expected.
    """
    for known in parameters_of(cls):
        if known.default is not dataclasses.MISSING:
            validated(cls, {known.name: known.default}, owner=f"the defaults of {owner}")


def check(instance: Any, *, owner: str) -> None:
    """Validate a dataclass instance's fields in place (frozen or not); called from ``__post_init__``."""
    for name, value in validated(type(instance), values_of(instance), owner=owner).items():
        object.__setattr__(instance, name, value)


def values_of(instance: Any) -> dict[str, Any]:
    """Return the parameters of a configured instance, name -> value as JSON has it, but for tuples."""
    cls: Any = type(instance)  # as Any: the cache asks for a Hashable, which a type is
    return {known.name: _as_data(getattr(instance, known.name)) for known in parameters_of(cls)}


def changed(instance: Any) -> dict[str, Any]:
    """Return the parameters of a configured instance that differ from their defaults, name -> value."""
    cls: Any = type(instance)
    usual = {known.name: _as_data(known.default) for known in parameters_of(cls)}
    return {name: value for name, value in values_of(instance).items() if value != usual[name]}


def label_of(instance: Any) -> str:
    """Return an instance's name with the parameters that differ from their defaults: ``lasvm[epochs=2]``."""
    parts = [f"{name}={as_text(value)}" for name, value in changed(instance).items()]
    return f"{instance.name}[{','.join(parts)}]" if parts else str(instance.name)


def _as_data(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else str(value) if isinstance(value, Path) else value


def as_text(value: Any) -> str:
    """Return a parameter's value as a selection string has it: ``(1,2)`` of a tuple."""
    return f"({','.join(map(str, value))})" if isinstance(value, tuple) else str(_as_data(value))


def check_known(kind: str, name: str, known: Iterable[str], end: str = ".") -> None:
    """Raise UsageError, with the nearest known names and all of them, if ``name`` is not among ``known``."""
    names = list(known)
    if name not in names:
        near = did_you_mean(name, names)
        raise UsageError(f"there is no {kind} called '{name}'{near}; known: {', '.join(names)}{end}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x' or 'y'?)`` for the nearest known names, or an empty string."""
    folded = {other.casefold(): other for other in known}
    near = [folded[match] for match in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)]
    return f" (did you mean {' or '.join(repr(match) for match in near)}?)" if near else ""
