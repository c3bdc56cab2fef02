"""Arrays, sparse matrices and frames as data sets: stored by their content, so that every process can read them.

They are written to the harness's cache as files of the formats that it reads anyway. A file's name has the hash of what
is in it: the same content is written once, and runs over it are reused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from harness.datasets.cache import cache_root
from harness.datasets.columns import TABLE_OPTIONS, Table, align, choose, clean_names
from harness.datasets.dataset import Dataset, content_sha256, is_csr
from harness.datasets.files import IN_MEMORY, FileSource, display_name
from harness.datasets.labels import class_name
from harness.kernels.points import FLOATS, as_points
from harness.support.errors import DataError
from harness.support.files import write_whole
from harness.support.parameters import validated

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
        :class:`Dataset`, which has all the rest (which of its points are planted is not stored)
    y : (n,) labels, two values of any type, yes, true or the greater one is +1; numbers with ``task="regression"``. None: the label
        is a column of the frame ``X`` (and of ``X_test``), see ``label``
    X_test, y_test : points for testing; without them a quarter of the rows is set apart, see ``test_fraction``
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
        return _store_arrays(parts, name or _file_name(X.name), settings, X.defaults)
    if isinstance(X, str | Path):
        raise DataError(
            f"X is the path '{X}'; expected what is in memory. A path is a data set itself: compare(..., '{X}')."
        )
    label = settings.pop("label_column", label)
    is_table = bool(settings.keys() & TABLE_OPTIONS)
    points = [_points(x, what, is_table) for x, what in ((X, "X"), (X_test, "X_test")) if x is not None]
    if _is_frame(points[0]) and y is None and y_test is None:
        return _store_frames(points, name, {"label_column": label, **settings})
    if (X_test is None) is not (y_test is None):
        raise DataError("of X_test and y_test one is given; expected both, or neither.")
    if label is not None or y is None:
        what = "label names a column of a frame that is given without y" if label is not None else "y is missing"
        raise DataError(f"{what}; give points and labels, data(X, y), or one frame, data(frame, label='kind').")
    labels = [_labels(values, what) for values, what in ((y, "y"), (y_test, "y_test")) if values is not None]
    for x, given, values, names in zip(points, (y, y_test), labels, (("X", "y"), ("X_test", "y_test")), strict=False):
        _check_rows(x, given, values, *names)
    if any(map(_is_frame, points)):
        frames = _joined(points, labels, getattr(y, "name", None))
        return _store_frames(frames, name, {"label_column": "-1", **settings})
    arrays: dict[str, Any] = dict(zip(("x_train", "x_test"), points, strict=False))
    arrays |= zip(("y_train", "y_test"), labels, strict=False)
    return _store_arrays(arrays, name, settings)


def _is_frame(x: Any) -> bool:
    return hasattr(x, "iloc") and hasattr(x, "columns")


def _points(x: Any, what: str, is_table: bool) -> Any:
    """Return points as an array, a CSR array or, with names, text or empty cells, as a pandas frame."""
    import pandas as pd
    import scipy.sparse

    if hasattr(x, "to_pandas"):  # an Arrow table, a frame of polars
        x = x.to_pandas()
    if _is_frame(x):
        if len(x.columns) and all(isinstance(kind, pd.SparseDtype) for kind in x.dtypes) and not is_table:
            return as_points(x.sparse.to_coo(), what)
        return x
    if scipy.sparse.issparse(x):
        return as_points(x, what)
    found = x if isinstance(x, np.ndarray) else _array(x)
    if getattr(found, "dtype", None) is not None and found.dtype.names:
        return pd.DataFrame(found)
    if found is not None and found.ndim == 2 and (is_table or found.dtype.kind in "OUS" or np.ma.is_masked(found)):
        return pd.DataFrame(found).infer_objects()
    return as_points(x, what)


def _array(x: Any) -> Any:
    try:
        return np.asarray(x)
    except ValueError:  # rows of different lengths, which `as_points` refuses
        return None


def _labels(y: Any, what: str) -> np.ndarray[Any, Any]:
    """Return (n,) labels as numbers or text; where one is missing, as text, which is empty there."""
    import pandas as pd

    if hasattr(y, "to_pandas"):
        y = y.to_pandas()
    found = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    found = found.reshape(-1) if found.ndim == 2 and 1 in found.shape else found
    if found.ndim != 1:
        raise DataError(f"{what} has shape {found.shape}; expected (n,), one label for each point.")
    series = pd.Series(found).infer_objects()
    present = series.notna().to_numpy()
    if present.all() and series.dtype.kind in "fiub":
        return series.to_numpy()
    texts = np.full(len(series), "", dtype=object)
    texts[present] = _as_text(series[present].tolist(), what)
    return texts.astype(np.str_)


def _as_text(values: Sequence[Any], what: str) -> list[str]:
    """Return values of any type as text.

    Raises
    ------
    DataError : two different values have the same text, as 1 and '1'.
    """
    texts = [class_name(value) for value in values]
    first: dict[str, Any] = {}
    for value, text in zip(values, texts, strict=True):
        if isinstance(first.setdefault(text, value), str) is not isinstance(value, str):
            raise DataError(f"{what} has {first[text]!r} and {value!r}, which differ only in type; use one type.")
    return texts


def _check_rows(x: Any, y: Any, labels: np.ndarray[Any, Any], points_name: str, labels_name: str) -> None:
    """Refuse a label too many or too few, and labels whose index has the rows of a frame in another order."""
    if x.shape[0] != len(labels):
        raise DataError(
            f"{points_name} has {x.shape[0]} rows, {labels_name} has {len(labels)} labels; give one label for each row."
        )
    index: Any = getattr(y, "index", None)
    if not _is_frame(x) or not hasattr(index, "equals") or index.equals(x.index):
        return
    if index.is_unique and x.index.is_unique and len(index.intersection(x.index)) == len(index):
        raise DataError(
            f"the index of {labels_name} has the rows of {points_name} in another order; expected the same one. Give "
            f"{labels_name}.loc[{points_name}.index], or {labels_name}.to_numpy() if their order is right."
        )


def _joined(points: Sequence[Any], labels: Sequence[np.ndarray[Any, Any]], label: Any) -> list[pd.DataFrame]:
    """Return frames with the labels as their last column."""
    import pandas as pd

    if not all(map(_is_frame, points)):
        raise DataError("of X and X_test one is a frame and the other is an array; give X and X_test as frames.")
    name = str(label or "y")
    while name in set(map(str, points[0].columns)):
        name += "_"
    columns = [pd.Series(values, name=name) for values in labels]
    return [pd.concat([x.reset_index(drop=True), y], axis=1) for x, y in zip(points, columns, strict=True)]


def _storable(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return a frame as Parquet can hold it: names of columns as text, dense, each column of one type, native floats."""
    import pandas as pd

    frame = frame.set_axis(clean_names(frame.columns), axis=1).reset_index(drop=True)
    Table(frame, where)  # which refuses two columns with the same name
    changes: dict[str, Any] = {}
    for name, kind in frame.dtypes.items():
        column: Any = frame[name]
        if isinstance(kind, pd.CategoricalDtype) and kind.categories.dtype.kind in "fiub":
            changes[str(name)] = column.cat.rename_categories(class_name)  # Parquet would hold them as numbers
        elif isinstance(kind, pd.SparseDtype):
            changes[str(name)] = column.sparse.to_dense()
        elif isinstance(kind, np.dtype) and kind.kind == "f" and kind not in FLOATS:
            changes[str(name)] = column.astype(np.float64)
        elif isinstance(kind, np.dtype) and kind.kind in "iu" and not kind.isnative:
            changes[str(name)] = column.astype(kind.newbyteorder("="))
        elif kind.kind == "O" and pd.api.types.infer_dtype(column, skipna=True).startswith(("mixed", "bytes")):
            present = column.notna()
            texts = _as_text(column[present].tolist(), f"column '{name}'")
            changes[str(name)] = pd.Series(texts, column.index[present], dtype=object).reindex(column.index)
    return frame.assign(**changes)


def _file_name(name: str) -> str:
    return name.replace(os.sep, "-")[:_LONGEST]


def _checked_name(name: str, sha256: str) -> str:
    if not name:
        return f"array-{sha256[:8]}"
    if os.sep in name or name.startswith(".") or len(name) > _LONGEST or not name.isprintable():
        raise DataError(f"name={name!r} cannot name data; take some letters and digits, as in name='mine'.")
    return name


def _store_arrays(
    parts: Mapping[str, Any], name: str, settings: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> FileSource:
    """Return the data set of arrays, which are in the cache then."""
    text = json.dumps(dict(defaults or {}), sort_keys=True, default=str)
    sha256 = hashlib.sha256(f"{content_sha256(*parts.values())} {text}".encode()).hexdigest()
    members: dict[str, Any] = {} if text == "{}" else {"defaults": np.array(text)}
    for key, array in parts.items():
        if is_csr(array):
            shape = np.array(array.shape)
            arrays = {"data": array.data, "indices": array.indices, "indptr": array.indptr, "shape": shape}
            members |= {f"{key}.{part}": values for part, values in arrays.items()}
        else:
            members[key] = array

    path = _store(f"{_checked_name(name, sha256)}.npz", sha256, lambda file: np.savez(file, **members))
    return _source(path, settings)


def _store_frames(frames: Sequence[pd.DataFrame], name: str, settings: dict[str, Any]) -> FileSource:
    """Return the data set of a frame and, if there is a second one, its test points."""
    from io import BytesIO

    paths, tables = [], []
    for frame, part in zip(frames, ("", "-test"), strict=False):
        stream = BytesIO()
        stored = _storable(frame, f"{name or 'the frame'}{part}")
        try:
            stored.to_parquet(stream, index=False)
        except Exception as error:  # pyarrow has many words for a column that it does not know
            reason = " ".join(str(error).split())[:200]
            raise DataError(f"the frame cannot be stored as Parquet ({reason}); give each column one type.") from None
        content = stream.getvalue()
        sha256 = hashlib.sha256(content).hexdigest()
        paths.append(_store(f"{_checked_name(name, sha256)}{part}.parquet", sha256, content))
        tables.append(Table(stored, display_name(paths[-1])))
    source = _source(paths[0], {**settings, **({"test": str(paths[1])} if len(paths) > 1 else {})})
    schema = choose(tables[0], source)
    if len(tables) > 1:
        align(tables[1], schema)
    return source


def renamed(source: FileSource, name: str) -> FileSource:
    """Return the data set of the same content under another name; of what :func:`data` returned."""
    path = Path(source.path)
    file = _checked_name(name, path.parent.name) + path.suffix
    stored = _store(file, path.parent.name, lambda target: target.write(path.read_bytes()))
    return replace(source, path=str(stored))


def _store(name: str, sha256: str, content: bytes | Callable[[IO[bytes]], object]) -> Path:
    """Return the path of a file of this content, written if it is not there."""
    path = cache_root().resolve() / IN_MEMORY / sha256[:24] / name
    if not path.exists():
        try:
            write_whole(path, content)
        except OSError as error:
            raise DataError(
                f"the data cannot be stored in {path.parent} ({error.strerror or error}); make room, or name another folder "
                "by the environment variable HARNESS_CACHE."
            ) from None
    return path


def _source(path: Path, settings: Mapping[str, Any]) -> FileSource:
    if isinstance(positive := settings.get("positive"), bool | int | float | np.generic):
        settings = {**settings, "positive": class_name(positive)}
    values = validated(FileSource, {**settings, "path": str(path)}, owner="data")
    return FileSource(**values)
