"""Finals in Parquet and Arrow, which pyarrow reads."""
import pathlib
from typing import Any, Dict, List

import numpy as np

from ._files import Damaged

EMBEDDING = "embedding"


def read_columns(path: pathlib.Path, manifest: Dict[str, Any], names: List[str]) -> Any:
    """Returns a pyarrow.Table of some columns. Raises ImportError if pyarrow cannot be used."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{path} is a {manifest['file']['format']} file, which needs the package pyarrow "
                          f"(pip install pyarrow); a final with output.format: npy needs only NumPy. "
                          f"The import failed with: {error}") from error
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
        items = chunk.flatten()
        if len(items) != len(chunk) * columns or row + len(chunk) > vectors:
            raise Damaged(f"{path}: its vectors are not those of the manifest")
        if len(items):
            buffer = items.buffers()[1]
            values = np.frombuffer(buffer, dtype, len(items), items.offset * dtype.itemsize)
            matrix[row:row + len(chunk)] = values.reshape(len(chunk), columns)
        row += len(chunk)
    if row != vectors:
        raise Damaged(f"{path}: {row} vectors instead of {vectors}")
    return matrix
