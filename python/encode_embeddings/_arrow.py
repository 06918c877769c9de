"""Texts as an Arrow IPC file, with a hash of their content."""
import hashlib
import itertools
import os
import pathlib
from typing import Any, Iterator, Sequence

BATCH_ROWS = 8192
BATCH_CHARACTERS = 32 << 20


def import_pyarrow() -> Any:
    """Returns pyarrow. Raises ImportError with the command that installs it."""
    try:
        import pyarrow
        import pyarrow.ipc  # noqa: F401
    except ImportError as error:
        raise ImportError("texts that are not in a file go to encode as Arrow, which needs the package pyarrow: "
                          f"pip install 'encode_embeddings[parquet]'. The import failed with: {error}") from error
    return pyarrow


def is_text(kind: Any) -> bool:
    pa = import_pyarrow()
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view")


def canonical(array: Any, name: str) -> Any:
    """Returns the array as large_string, or as large_list of int64 for token ids, without the padding of nulls.

    Raises:
        TypeError: The column has neither strings nor token ids nor values that have one form as text.
    """
    pa = import_pyarrow()
    types = pa.types
    kind = array.type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        wanted = pa.large_list(pa.int64())
    elif types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise TypeError(f"the column {name!r} is {kind}: encode reads strings, numbers, booleans, dates, or lists of token ids")
    else:
        wanted = pa.large_string()
    try:
        return array.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"the column {name!r} is {kind}, which cannot be read as {wanted}: {error}") from error


class ContentHash:
    """The hash of columns, which does not depend on how their rows are divided into batches."""

    def __init__(self, fields: Sequence[Any]):
        self._columns = [(hashlib.sha256(f"{field.name}:{field.type}".encode()), hashlib.sha256()) for field in fields]

    def add(self, batch: Any) -> None:
        """Takes in a pyarrow.RecordBatch of large strings, large lists of int64, numbers and booleans."""
        import numpy as np
        pa = import_pyarrow()
        for array, (lengths, data) in zip(batch.columns, self._columns):
            if not pa.types.is_large_list(array.type):
                array = array.cast(pa.large_string())
            offsets = np.frombuffer(array.buffers()[1], np.int64, len(array) + 1, array.offset * 8) if len(array) else \
                np.zeros(1, np.int64)
            sizes = np.diff(offsets)
            if array.null_count:
                sizes = np.where(array.is_null().to_numpy(zero_copy_only=False), -1, sizes)
            lengths.update(sizes.astype(np.int64).tobytes())
            first, last = int(offsets[0]), int(offsets[-1])
            if hasattr(array, "values"):
                data.update(array.values[first:last].to_numpy(zero_copy_only=False).tobytes())
            elif last > first:
                data.update(memoryview(array.buffers()[2])[first:last])

    def hexdigest(self) -> str:
        whole = hashlib.sha256()
        for lengths, data in self._columns:
            whole.update(lengths.digest() + data.digest())
        return whole.hexdigest()


def small_batches(table: Any) -> Iterator[Any]:
    """Divides a table into record batches that a reader can hold."""
    pending = [batch.slice(begin, BATCH_ROWS) for batch in table.to_batches() for begin in range(0, len(batch), BATCH_ROWS)]
    pending.reverse()
    while pending:
        batch = pending.pop()
        if batch.nbytes > 8 * BATCH_CHARACTERS and len(batch) > 1:
            half = len(batch) // 2
            pending += [batch.slice(half), batch.slice(0, half)]
        else:
            yield batch


def write_texts(batches: Iterator[Any], path: pathlib.Path) -> "tuple[str, str]":
    """Writes an Arrow IPC file, and syncs it.

    Returns:
        The hash of the content, and the column of the texts, which is the first one.
    """
    pa = import_pyarrow()
    first = next(batches)
    content = ContentHash(first.schema)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, first.schema) as writer:
        for batch in itertools.chain([first], batches):
            if batch.schema != first.schema:
                raise TypeError(f"the types of the columns change between batches: {first.schema} and {batch.schema}")
            content.add(batch)
            writer.write_batch(batch)
    with open(path, "rb") as written:
        os.fsync(written.fileno())
    return content.hexdigest(), first.schema.names[0]


def has_content(path: pathlib.Path, content: str) -> bool:
    """Returns whether a file of write_texts() has this content. Equal content may be divided into other batches."""
    pa = import_pyarrow()
    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
            found = ContentHash(reader.schema)
            for number in range(reader.num_record_batches):
                found.add(reader.get_batch(number))
    except (OSError, pa.ArrowException):
        return False
    return found.hexdigest() == content
