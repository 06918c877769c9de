"""Finals in Parquet and Arrow, which pyarrow reads."""
import pathlib
from typing import Any, Dict, Iterator, List

import numpy as np

from ._files import Damaged

EMBEDDING = "embedding"


def import_pyarrow(path: pathlib.Path, manifest: Dict[str, Any]) -> Any:
    """Returns pyarrow with its part for Parquet. Raises ImportError with what to install."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{path} is a {manifest['file']['format']} file, which needs the package pyarrow "
                          f"(pip install pyarrow); a final with output.format: npy needs only NumPy. "
                          f"The import failed with: {error}") from error
    return pyarrow


def read_columns(path: pathlib.Path, manifest: Dict[str, Any], names: List[str]) -> Any:
    """Returns a pyarrow.Table of some columns. Raises ImportError if pyarrow cannot be used."""
    pyarrow = import_pyarrow(path, manifest)
    try:
        if manifest["file"]["format"] == "parquet":
            return pyarrow.parquet.read_table(path, columns=names)
        with pyarrow.OSFile(str(path)) as source, pyarrow.ipc.open_file(source) as reader:
            return reader.read_all().select(names)
    except (pyarrow.ArrowInvalid, KeyError, OSError) as error:
        raise Damaged(f"{path}: {error}") from error


def read_vectors(path: pathlib.Path, manifest: Dict[str, Any], vectors: int, columns: int) -> np.ndarray:
    """Returns the vectors [vectors, columns] in the type of the file. They are in memory, not mapped."""
    dtype = np.dtype(manifest["dtype"])
    matrix = np.empty((vectors, columns), dtype)
    row = 0
    for chunk in read_columns(path, manifest, [EMBEDDING])[EMBEDDING].chunks:
        if row + len(chunk) > vectors:
            raise Damaged(f"{path}: its vectors are not those of the manifest")
        matrix[row:row + len(chunk)] = vectors_of(path, dtype, chunk, columns)
        row += len(chunk)
    if row != vectors:
        raise Damaged(f"{path}: {row} vectors instead of {vectors}")
    return matrix


def stream_columns(path: pathlib.Path, manifest: Dict[str, Any], names: List[str], rows: int) -> Iterator[Any]:
    """Yields record batches of at most `rows` rows, and holds a row group or a record batch of the file at a time."""
    pyarrow = import_pyarrow(path, manifest)
    try:
        if manifest["file"]["format"] == "parquet":
            with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:  # a buffer would keep the whole file
                yield from file.iter_batches(batch_size=rows, columns=names, use_threads=False)
            return
        with pyarrow.OSFile(str(path)) as source, pyarrow.ipc.open_file(source) as reader:
            for index in range(reader.num_record_batches):
                batch = reader.get_batch(index).select(names)
                for begin in range(0, len(batch), rows):
                    yield batch.slice(begin, rows)
    except (pyarrow.ArrowInvalid, KeyError, OSError) as error:
        raise Damaged(f"{path}: {error}") from error


def vectors_of(path: pathlib.Path, dtype: np.dtype, lists: Any, columns: int) -> np.ndarray:
    """Returns the vectors of an array of lists, in the type of the file."""
    items = lists.flatten()
    if len(items) != len(lists) * columns:
        raise Damaged(f"{path}: its vectors are not those of the manifest")
    if not len(items):
        return np.empty((0, columns), dtype)
    return np.frombuffer(items.buffers()[1], dtype, len(items), items.offset * dtype.itemsize).reshape(len(lists), columns)
