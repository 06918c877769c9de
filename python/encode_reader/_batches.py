"""The rows of a matrix of any format, a batch at a time."""
import dataclasses
import pathlib
from typing import Any, Dict, Iterator, List, Sequence

import numpy as np

from ._files import Damaged, Path
from ._final import Final, open_final
from ._parts import open_parts
from ._table import EMBEDDING, stream_columns, vectors_of


@dataclasses.dataclass(frozen=True)
class Batch:
    """Some rows of a matrix, in the order of the matrix."""
    row_numbers: np.ndarray  # int64 [n]: the row of each vector
    vectors: np.ndarray  # float32 [n, dim], or [0, dim] if the vectors were not asked for
    columns: Dict[str, List[Any]]  # n values of each column that was asked for


def finals_of(path: Path) -> Iterator[Final]:
    """Yields the matrix at a path, or the parts of a list x.parts.json in the order of their rows."""
    path = pathlib.Path(path)
    if path.name.endswith(".parts.json"):
        parts = open_parts(path)
        for index in range(len(parts)):
            yield parts.open_part(index, load=False)
    else:
        yield open_final(path, load=False)


def read_batches(path: Path, rows: int = 8192, columns: Sequence[str] = (), vectors: bool = True) -> Iterator[Batch]:
    """Reads a finished matrix, or the list x.parts.json of a merged one, in batches of at most `rows` rows.

    `columns` are other columns of a Parquet or Arrow file. Without `vectors` only they are read. Raises what open_final() raises,
    TypeError for token embeddings and passages, whose rows have many vectors, and KeyError for a column that is not there.
    """
    for final in finals_of(path):
        if final.offsets is not None:
            raise TypeError(f"{final.path} has several vectors for a row")
        for name in columns:
            if name not in final.columns:
                raise KeyError(f"{final.path} has no column {name!r}; its columns are {final.columns}")
        yield from (_of_table if "file" in final.manifest else _of_npy)(final, rows, list(columns), vectors)


def _of_npy(final: Final, rows: int, _: List[str], vectors: bool) -> Iterator[Batch]:
    numbers = final.row_numbers()
    for begin in range(0, len(numbers), rows):
        end = min(begin + rows, len(numbers))
        yield Batch(numbers[begin:end], final.floats(begin, end if vectors else begin), {})


def _of_table(final: Final, rows: int, columns: List[str], vectors: bool) -> Iterator[Batch]:
    numbers = final.row_numbers()
    begin = 0
    for batch in stream_columns(final.path, final.manifest, columns + [EMBEDDING] * vectors, rows):
        items = vectors_of(final.path, final.matrix.dtype, batch.column(len(columns)), final.matrix.shape[1]) if vectors else \
            final.matrix
        end = begin + len(batch)
        if end > len(numbers):
            break
        yield Batch(numbers[begin:end], final.floats_of(items),
                    {name: column.to_pylist() for name, column in zip(columns, batch.columns)})
        begin = end
    if begin != len(numbers) and (columns or vectors):
        raise Damaged(f"{final.path}: its rows are not the {len(numbers)} of the manifest")
