"""Configuration files of scikit-learn_bench, expanded to their cases as that suite does it.

Source: https://github.com/IntelPython/scikit-learn_bench, configs/BENCH-CONFIG-SPEC.md (Apache-2.0): PARAMETERS_SETS are named
parts of cases, TEMPLATES list the sets that make a case; a list anywhere stands for a case each, whatever is deepest in a later
set wins. Files of before 2024 have ``common`` and ``cases`` instead.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.parameters import did_you_mean
from harness.plain import plain_line

MOST_CASES = 10_000
_REMOVE = "[REMOVE]"
_LARGEST = 10_000_000  # bytes of a file
_ESTIMATORS = {"svm": "SVC", "svc": "SVC", "svr": "SVR", "nusvc": "NuSVC", "nusvr": "NuSVR"}  # of the older files
_WORKFLOW = ("data-format", "data-order", "dtype", "workload-size", "time-method", "time-limit")

Case = dict[str, Any]
"""``algorithm``, ``data``, ``bench``: each a mapping of settings."""


def cases(path: Path) -> list[Case]:
    """Return the cases of a file, each without lists.

    Raises
    ------
    UsageError : it cannot be read, is none of that suite, or refers to what is not there; the sentence says which.
    """
    content = _read(path)
    if "cases" in content:
        expanded: Iterator[Case] = _of_before(content, path)
    elif "TEMPLATES" in content:
        expanded = _of_templates(content, _sets(path, content), path)
    else:
        raise UsageError(f"{path} is no configuration of scikit-learn_bench: it has neither TEMPLATES nor cases.")
    found = list(itertools.islice(expanded, MOST_CASES + 1))
    if len(found) > MOST_CASES:
        raise UsageError(f"{path} has more than {MOST_CASES:,} cases; name a smaller file.")
    return [_whole(case, path) for case in found]


def _whole(case: Case, path: Path) -> Case:
    """Return a case with all its parts, each a mapping."""
    parts = {name: dict(_mapping(case.get(name), f"a case's {name}", path)) for name in ("algorithm", "data", "bench")}
    params = _mapping(parts["algorithm"].get("estimator_params"), "a case's estimator_params", path)
    return {**parts, "algorithm": {**parts["algorithm"], "estimator_params": dict(params)}}


def _mapping(value: Any, what: str, path: Path) -> Mapping[str, Any]:
    """Return a mapping, an empty one for nothing."""
    if value is None or isinstance(value, Mapping):
        return value or {}
    raise UsageError(f"{path}: {what} is {shortened(value)}; it must be a mapping of names to settings.")


def _list(value: Any, what: str, path: Path, kind: type = str) -> list[Any]:
    if value is None or (isinstance(value, list) and all(isinstance(each, kind) for each in value)):
        return value or []
    items = "names" if kind is str else "mappings"
    raise UsageError(f"{path}: {what} is {shortened(value)}; it must be a list of {items}.")


def shortened(value: Any) -> str:
    """Return a value as a sentence can show it."""
    return plain_line(json.dumps(value, default=str), 80)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path} is longer than {_LARGEST:,} bytes; a configuration has some kilobytes.")
        content = json.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"the suite {path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON ({error}); name a file such as configs/weekly/svm.json.") from None
    if not isinstance(content, Mapping):
        raise UsageError(f"{path} is no configuration of scikit-learn_bench: it is no mapping.")
    return content


def _sets(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameter sets of a file and of those that it includes, which lie beside it as in the suite."""
    found: dict[str, Any] = {}
    for name in _list(content.get("INCLUDE"), "INCLUDE", path):
        included = path.parent / name
        if not included.is_file():
            raise UsageError(f"{path} includes {name}, which is not at {included}; fetch it as well, with its folder.")
        found.update(_mapping(_read(included).get("PARAMETERS_SETS"), "PARAMETERS_SETS", included))
    return {**found, **_mapping(content.get("PARAMETERS_SETS"), "PARAMETERS_SETS", path)}


def _of_templates(content: Mapping[str, Any], sets: Mapping[str, Any], path: Path) -> Iterator[Case]:
    for name, given in _mapping(content["TEMPLATES"], "TEMPLATES", path).items():
        template = _mapping(given, f"the template '{name}'", path)
        parts: list[Any] = []
        for each in _list(template.get("SETS"), f"SETS of the template '{name}'", path):
            if each not in sets:
                raise UsageError(
                    f"{path}: the template '{name}' has the set '{each}', which is not there{did_you_mean(each, sets)}."
                )
            parts.append(sets[each])
        parts.append({key: value for key, value in template.items() if key != "SETS"})
        for chosen in itertools.product(*map(_expanded, parts)):
            case: Case = {}
            for part in chosen:
                case = _stacked(case, _mapping(part, f"a part of the template '{name}'", path))
            yield _without_removed(case)


def _of_before(content: Mapping[str, Any], path: Path) -> Iterator[Case]:
    """Yield the cases of an older file in the words of a newer one."""
    for given in _list(content["cases"], "cases", path, dict):
        for case in _expanded({**_mapping(content.get("common"), "common", path), **given}):
            data = case.pop("dataset", None)
            data = data if isinstance(data, Mapping) else {"name": data}
            algorithm = {
                "estimator": _ESTIMATORS.get(str(case.get("algorithm")), case.get("algorithm")),
                "library": case.pop("lib", "sklearn"),
                "device": case.pop("device", "none"),
            }
            case.pop("algorithm", None)
            told = {name: case.pop(name) for name in _WORKFLOW if name in case}
            algorithm["estimator_params"] = {name.replace("-", "_"): value for name, value in case.items()}
            yield {"algorithm": algorithm, "data": {"dataset": data.get("name") or data.get("type")}, "bench": told}


def _expanded(value: Any) -> list[Any]:
    """Return the cases that a value stands for: a list anywhere in it is one each."""
    if isinstance(value, Mapping):
        names, given = list(value), [_expanded(each) for each in value.values()]
        if (size := _product(given)) > MOST_CASES:
            raise UsageError(f"a part of the suite stands for {size:,} cases; at most {MOST_CASES:,} are taken.")
        return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*given)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [case for each in value for case in _expanded(each)]
    return [value]


def _product(given: Sequence[Sequence[Any]]) -> int:
    size = 1
    for each in given:
        size *= len(each)
    return size


def _stacked(below: Any, above: Any) -> Any:
    """Return a part of a case on top of another."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    return {
        **below,
        **{name: _stacked(below[name], value) if name in below else value for name, value in above.items()},
    }


def _without_removed(case: Any) -> Any:
    if not isinstance(case, Mapping):
        return case
    return {name: _without_removed(value) for name, value in case.items() if value != _REMOVE}
