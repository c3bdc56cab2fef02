"""Arrays, sparse matrices and frames as data sets: kept by their content, so that every process can read them.

They are written to the harness's cache as files of the formats that it reads anyway. A file's name has the hash of what
is in it: the same content is written once, and runs over it are reused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from harness.datasets.cache import cache_root
from harness.datasets.columns import check_choices
from harness.datasets.dataset import Dataset, content_sha256, is_csr
from harness.datasets.files import KEPT, TABLE_OPTIONS, FileSource
from harness.errors import DataError
from harness.files import write_whole
from harness.kernels.points import as_points
from harness.parameters import validated
from harness.plain import plain_line

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 100  # characters of a name


def data(
    X: Any,
    y: Any = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    name: str = "",
    label: str | None = None,
    **settings: Any,
) -> FileSource:
    """Return what is in memory as a data set of :func:`harness.compare`.

    Parameters
    ----------
    X : (n, d) points: an array or a list, a sparse matrix or array of any kind that SciPy has, a pandas frame; or a
        :class:`Dataset`, which has all the rest (which of its points are planted is not kept)
    y : (n,) labels, two values of any type, yes, true or the greater one is +1; numbers with ``task="regression"``. None: the label
        is a column of the frame ``X`` (and of ``X_test``), see ``label``
    X_test, y_test : points for testing; without them a quarter of the rows is kept for it, see ``test_fraction``
    name : in tables and records; empty: ``array-`` and the beginning of the content's hash
    label : the column of a frame that is the label; None: the one called label, target, class or y, else the last one
    settings : what a file takes in brackets: ``test_fraction=0``, ``positive="spam"``, ``scale="standard"``,
        ``task="regression"``; of a frame with columns of text or empty cells ``categories="one-hot"``, ``missing="mean"`` ...

    Raises
    ------
    DataError : no points, or not as many labels.
    UsageError : an unknown setting.
    """
    if isinstance(X, Dataset):
        alone = {} if X.x_test.shape[0] else {"test_fraction": 0.0}
        settings = {**({} if X.task == "classification" else {"task": X.task}), **alone, **settings}
        parts = {"x_train": X.x_train, "y_train": X.y_train, "x_test": X.x_test, "y_test": X.y_test}
        return _kept_arrays(parts, name or _named(X.name), settings, X.defaults)
    label = settings.pop("label_column", label)
    if _is_frame(X) and y is None and y_test is None:
        return _kept_frame(X, X_test, name, {"label_column": label, **settings})
    if (X_test is None) is not (y_test is None):
        raise DataError("of X_test and y_test one is given; expected both, or neither.")
    if label is not None or y is None:
        what = "label names a column of a frame that is given without y" if label is not None else "y is missing"
        raise DataError(f"{what}; give points and labels, data(X, y), or one frame, data(frame, label='kind').")
    given = [X] if X_test is None else [X, X_test]
    if all(map(_is_frame, given)) and (settings.keys() & TABLE_OPTIONS or any(map(_has_gaps_or_text, given))):
        tested = None if X_test is None else _joined(X_test, y_test, "X_test", "y_test")
        return _kept_frame(_joined(X, y, "X", "y"), tested, name, {"label_column": "-1", **settings})
    parts = {"x_train": _points(X, "X"), "y_train": _labels(y, "y")}
    _check_lengths(parts["x_train"], parts["y_train"], "X", "y")
    if X_test is not None:
        parts |= {"x_test": _points(X_test, "X_test"), "y_test": _labels(y_test, "y_test")}
        _check_lengths(parts["x_test"], parts["y_test"], "X_test", "y_test")
    if _is_frame(X):
        parts["x_train.names"] = np.array([plain_line(str(column).strip(), _LONGEST) for column in X.columns])
    source = _kept_arrays(parts, name, settings)
    if source.positive is not None:
        import pandas as pd

        check_choices(pd.DataFrame({"y": parts["y_train"]}), source.kept_name, source)
    return source


def _is_frame(x: Any) -> bool:
    return hasattr(x, "iloc") and hasattr(x, "columns")


def _has_gaps_or_text(frame: pd.DataFrame) -> bool:
    return any(kind.kind not in "fiub" for kind in frame.dtypes) or bool(frame.isna().to_numpy().any())


def _joined(frame: pd.DataFrame, y: Any, points: str, labels: str) -> pd.DataFrame:
    """Return a frame with the labels as its last column, under their own name if it is free."""
    name, found = str(getattr(y, "name", None) or "y"), _labels(y, labels)
    _check_lengths(frame, found, points, labels)
    while name in frame.columns:
        name += "_"
    return frame.assign(**{name: found})


def _points(x: Any, what: str) -> Any:
    if _is_frame(x):
        if texts := [str(column) for column, kind in zip(x.columns, x.dtypes, strict=True) if kind.kind not in "fiub"]:
            listed = plain_line(", ".join(map(repr, texts)), 200)
            raise DataError(
                f"{what} has columns of text, dates or categories, {listed}; give X and X_test as frames, or encode these."
            )
        # else truth values and nullable numbers would make it an array of objects
        x = x.to_numpy(np.float32 if (x.dtypes == np.float32).all() else np.float64, na_value=np.nan)
    return as_points(x, what)


def _labels(y: Any, what: str) -> np.ndarray[Any, Any]:
    """Return (n,) labels as numbers or text."""
    found = np.asarray(y)
    found = found.reshape(-1) if found.ndim == 2 and 1 in found.shape else found
    if found.ndim != 1:
        raise DataError(f"{what} has shape {found.shape}; expected (n,), one label for each point.")
    if found.dtype.kind not in "fiubSU":
        numbers = all(isinstance(each, int | float | np.number) for each in found.tolist())
        found = found.astype(np.float64 if numbers else np.str_)
    return found


def _check_lengths(x: Any, y: Any, points: str, labels: str) -> None:
    if x.shape[0] != len(y):
        raise DataError(
            f"{points} has {x.shape[0]} rows and {labels} {len(y)} labels; expected one label for each row."
        )


def _named(name: str) -> str:
    return name.replace(os.sep, "-")[:_LONGEST]


def _checked_name(name: str, sha256: str) -> str:
    if not name:
        return f"array-{sha256[:8]}"
    if os.sep in name or name.startswith(".") or len(name) > _LONGEST or not name.isprintable():
        raise DataError(f"name={name!r} cannot name data; take some letters and digits, as in name='mine'.")
    return name


def _kept_arrays(
    parts: Mapping[str, Any], name: str, settings: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> FileSource:
    """Return the data set of arrays, which are in the cache then."""
    told = json.dumps(dict(defaults or {}), sort_keys=True, default=str)
    sha256 = hashlib.sha256(f"{content_sha256(*parts.values())} {told}".encode()).hexdigest()
    members: dict[str, Any] = {} if told == "{}" else {"defaults": np.array(told)}
    for key, array in parts.items():
        if is_csr(array):
            shape = np.array(array.shape)
            own = {"data": array.data, "indices": array.indices, "indptr": array.indptr, "shape": shape}
            members |= {f"{key}.{part}": values for part, values in own.items()}
        else:
            members[key] = array

    return _source(
        _kept(f"{_checked_name(name, sha256)}.npz", sha256, lambda file: np.savez(file, **members)), settings
    )


def _kept_frame(frame: pd.DataFrame, test: Any, name: str, settings: dict[str, Any]) -> FileSource:
    """Return the data set of a frame, and of one with the test points."""
    from io import BytesIO

    paths = []
    for part, given in (("", frame), ("-test", test)):
        if given is None:
            continue
        stream = BytesIO()
        try:
            named = given.set_axis(list(map(str, given.columns)), axis=1).reset_index(drop=True)
            named.to_parquet(stream, index=False)
        except Exception as error:  # pyarrow has many words for a column of several types
            reason = " ".join(str(error).split())[:200]
            raise DataError(f"the frame cannot be kept as Parquet ({reason}); give each column one type.") from None
        content = stream.getvalue()
        sha256 = hashlib.sha256(content).hexdigest()
        file = f"{_checked_name(name, sha256)}{part}.parquet"
        paths.append(_kept(file, sha256, content))
    source = _source(paths[0], {**settings, **({"test": str(paths[1])} if len(paths) > 1 else {})})
    check_choices(frame, source.kept_name, source)
    return source


def renamed(source: FileSource, name: str) -> FileSource:
    """Return the data set of the same content under another name; of what :func:`data` returned."""
    path = Path(source.path)
    file = _checked_name(name, path.parent.name) + path.suffix
    kept = _kept(file, path.parent.name, lambda target: target.write(path.read_bytes()))
    return replace(source, path=str(kept))


def _kept(name: str, sha256: str, content: bytes | Callable[[IO[bytes]], object]) -> Path:
    """Return the path of a file of this content, written if it is not there."""
    path = cache_root().resolve() / KEPT / sha256[:24] / name
    if not path.exists():
        try:
            write_whole(path, content)
        except OSError as error:
            raise DataError(
                f"the data cannot be kept in {path.parent} ({error.strerror or error}); make room, or name another folder "
                "by the environment variable HARNESS_CACHE."
            ) from None
    return path


def _source(path: Path, settings: Mapping[str, Any]) -> FileSource:
    values = validated(FileSource, {**settings, "path": str(path)}, owner="data")
    return FileSource(**values)
