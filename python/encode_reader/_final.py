"""Final and combined matrices."""
import pathlib
import re
from typing import Any, Dict, List, Optional

import numpy as np

from ._files import (FORMATS, HEADER_BYTES, Damaged, Path, SetAsideRow, TruncatedRow, check_hash, check_size, map_matrix,
                     read_ledger, read_offsets, read_sealed_file, read_source_rows)
from ._table import read_columns, read_vectors


# How the numbers of an output_dtype of integers are stored: as steps in the range of their column, or as signs.
INTEGERS = {"int8": "scalar", "uint8": "scalar", "binary": "binary", "ubinary": "binary"}


def quantization_of(output_dtype: str, dtype: str, path: pathlib.Path) -> str:
    """Returns "none" for floating-point numbers, else what INTEGERS says. Raises Damaged for a type that it does not have."""
    if np.dtype(dtype).kind == "f":
        return "none"
    if output_dtype not in INTEGERS:
        raise Damaged(f"{path}: output_dtype {output_dtype!r}; this reader knows floating-point types, {', '.join(INTEGERS)}")
    return INTEGERS[output_dtype]


# The columns of Final.passages: where the passage of each vector is in the text of its row.
PASSAGE_COLUMNS = ("row", "passage", "byte_begin", "byte_end", "char_begin", "char_end", "tokens")


class Final:
    """A finished matrix. open_final() makes it.

    A row is a text of the input, and a vector is a line of the matrix. They have the same numbers, except in two cases:
    token embeddings and passages have several vectors of a row, and with `quarantine: drop` some rows have no vector.
    """

    def __init__(self, path: pathlib.Path, manifest: Dict[str, Any], load: bool = True):
        """`load`: read the vectors of a Parquet or Arrow file; without it `matrix` is empty, and read_batches() reads them."""
        self.path = path
        self.manifest = manifest
        self.rows: int = manifest["rows"]  # of the input
        self.first_row: int = manifest.get("first_row", 0)  # above 0 only in a part of a merged matrix; see open_parts()
        self.dim: int = manifest["dim"]  # the numbers of a vector
        self.type: str = manifest.get("output_dtype", "float32")
        self._quantization = quantization_of(self.type, manifest["dtype"], path)
        # The columns of a Parquet or Arrow file beside its vectors; see column().
        self.columns: List[str] = manifest["file"]["columns"] if "file" in manifest else []
        columns = manifest.get("columns", self.dim)
        vectors = self.rows - manifest.get("dropped_rows", 0)
        if manifest.get("offsets"):
            vectors = manifest["stats"].get("passages", 0) if "passages" in manifest else manifest["stats"]["tokens"]
        if "file" not in manifest and path.stat().st_size < HEADER_BYTES:
            raise Damaged(f"{path}: the file has no header")
        check_size(path, manifest)
        # [vectors, columns] in the type of the file. A .npy file is mapped, so only what is used is read. The vectors of a
        # Parquet or Arrow file are read here, into memory.
        self.matrix: np.ndarray = (map_matrix(path, manifest["dtype"], vectors, columns) if "file" not in manifest else
                                   read_vectors(path, manifest, vectors, columns) if load else
                                   np.empty((0, columns), manifest["dtype"]))
        # [rows + 1] with token embeddings and passages, else None. Row r has the vectors [offsets[r], offsets[r + 1]).
        self.offsets: Optional[np.ndarray] = None
        if manifest.get("offsets"):
            self.offsets = read_offsets(self._beside(".offsets.npy"), self.rows, vectors)
        # [vectors, 7] for a matrix of passages, else None: the columns are PASSAGE_COLUMNS.
        self.passages: Optional[np.ndarray] = None
        if "passages" in manifest:
            self.passages = map_matrix(self._beside(".passages.npy"), "<i8", vectors, len(PASSAGE_COLUMNS))
        # [rows - dropped rows] for an input with a filter, else None: the record of the input that each row was made from.
        self.source_rows: Optional[np.ndarray] = None
        if manifest.get("source_rows"):
            self.source_rows = read_source_rows(self._beside(".source_rows.npy"), self.rows - manifest.get("dropped_rows", 0))
        # [2, dim]: the lowest and the highest value of each column of an int8 or uint8 matrix, else None.
        self.ranges: Optional[np.ndarray] = None
        self._dropped: Optional[np.ndarray] = None  # what dropped_rows() has read
        if manifest.get("ranges"):
            self.ranges = np.load(path.with_name(path.name + ".ranges.npy"), allow_pickle=False)

    def __len__(self) -> int:
        return len(self.matrix)

    def row(self, row: int) -> np.ndarray:
        """Returns the vector of a row as float32, or the vectors of its tokens or its passages [vectors, dim].

        Raises KeyError for a row that was dropped.
        """
        index = row - self.first_row
        if not 0 <= index < self.rows:
            raise IndexError(f"row {row} of the rows {self.first_row} to {self.first_row + self.rows - 1}")
        if self.offsets is not None:
            return self.floats(int(self.offsets[index]), int(self.offsets[index + 1]))
        dropped = self.dropped_rows()
        before = int(np.searchsorted(dropped, row))
        if before < len(dropped) and dropped[before] == row:
            raise KeyError(f"row {row} was dropped")
        return self.floats(index - before, index - before + 1)[0]

    def row_numbers(self) -> np.ndarray:
        """Returns the number of the row of each vector, int64 [vectors]."""
        numbers = np.arange(self.first_row, self.first_row + self.rows)
        if self.offsets is not None:
            return np.repeat(numbers, np.diff(self.offsets))
        return np.delete(numbers, self.dropped_rows() - self.first_row)

    def dropped_rows(self) -> np.ndarray:
        """Returns the rows without a vector, int64 [dropped], ascending.

        A combined matrix has no list of its own, and the one of its first part is read, which must lie beside it. Raises
        Damaged if the list is missing or does not fit the manifest.
        """
        if self._dropped is None:
            self._dropped = self._read_dropped_rows()
        return self._dropped

    def floats(self, begin: int = 0, end: Optional[int] = None) -> np.ndarray:
        """Returns vectors as float32 [n, dim].

        int8 and uint8 become the middle of their bucket, and bits become 1 and -1. float32 is not copied.
        """
        return self.floats_of(self.matrix[begin:end])

    def floats_of(self, items: np.ndarray) -> np.ndarray:
        """Returns what floats() returns, for rows in the type of the file."""
        if self._quantization == "none":
            return items.astype(np.float32, copy=False)
        if self._quantization == "binary":
            return np.where(self._bits_of(items), np.float32(1), np.float32(-1))
        buckets = items.astype(np.float32) + (128 if items.dtype == np.int8 else 0)
        assert self.ranges is not None
        lowest, highest = self.ranges
        return lowest + (buckets + np.float32(0.5)) * ((highest - lowest) / np.float32(255))

    def bits(self, begin: int = 0, end: Optional[int] = None) -> np.ndarray:
        """Returns the signs of a binary or ubinary matrix: bool [n, dim], True where a value was above 0."""
        if self._quantization != "binary":
            raise TypeError(f"{self.path} is {self.type}, not binary or ubinary")
        return self._bits_of(self.matrix[begin:end])

    def _bits_of(self, items: np.ndarray) -> np.ndarray:
        data = (items.astype(np.int16) + 128).astype(np.uint8) if items.dtype == np.int8 else np.asarray(items)
        parts, first = [], 0
        for dim in self._part_dims():  # the bits of each part begin at a byte
            width = (dim + 7) // 8
            parts.append(np.unpackbits(data[:, first:first + width], axis=1)[:, :dim])
            first += width
        return np.concatenate(parts, axis=1).astype(bool)

    def column(self, name: str) -> List[Any]:
        """Returns the values of another column of a Parquet or Arrow file, one for each vector. None: no value."""
        if name not in self.columns:
            raise KeyError(f"{self.path} has the columns {self.columns}")
        return read_columns(self.path, self.manifest, [name])[name].to_pylist()

    def truncated(self) -> List[TruncatedRow]:
        """Returns the rows that were cut at max_length. Raises TypeError for a combined matrix: its parts have lists."""
        rows = self._ledger("ledger", ".truncated.jsonl", TruncatedRow)
        if self.manifest.get("ledger") is None and self.manifest["stats"]["truncated_rows"] > 0:
            raise Damaged(f"{self.path}: the manifest counts truncated rows and names no list of them")
        return rows

    def set_aside(self) -> List[SetAsideRow]:
        """Returns the rows whose encoding failed. Raises TypeError for a combined matrix: its parts have lists."""
        return self._ledger("set_aside", ".set_aside.jsonl", SetAsideRow)

    def check(self) -> None:
        """Compares the checksums of all files. Reads the whole matrix, and needs the package xxhash. Raises Damaged."""
        check_hash(self.path, self.manifest["xxh3_128"])
        if self.ranges is not None:
            check_hash(self.path.with_name(self.path.name + ".ranges.npy"), self.manifest["ranges"]["xxh3_128"])
        for key, suffix in (("offsets", ".offsets.npy"), ("source_rows", ".source_rows.npy"), ("ledger", ".truncated.jsonl"),
                            ("set_aside", ".set_aside.jsonl"), ("passages", ".passages.npy")):
            if self.manifest.get(key):
                check_hash(self._beside(suffix), self.manifest[key]["xxh3_128"])

    def _beside(self, suffix: str) -> pathlib.Path:
        """x.npy has x.truncated.jsonl beside it; x.parquet has x.parquet.truncated.jsonl, and X.NPY has X.NPY.truncated.jsonl."""
        base = self.path.stem if self.path.suffix == ".npy" else self.path.name
        return self.path.with_name(base + suffix)

    def _read_dropped_rows(self) -> np.ndarray:
        count = self.manifest.get("dropped_rows", 0)
        if not count:
            return np.empty(0, np.int64)
        rows = (self._first_part().dropped_rows() if self._combined() else
                np.array([row.row for row in self.set_aside()], np.int64))
        if len(rows) != count or np.any(np.diff(rows) <= 0) or rows[0] < self.first_row or \
                rows[-1] >= self.first_row + self.rows:
            raise Damaged(f"{self.path}: the list of rows that were set aside does not have its {count} dropped rows")
        return rows

    def _ledger(self, key: str, suffix: str, kind: type) -> List[Any]:
        if self._combined():
            raise TypeError(f"{self.path} is a combined matrix: open its parts, {', '.join(self.manifest['parts'])}")
        return read_ledger(self._beside(suffix), self.manifest.get(key), kind)

    def _combined(self) -> List[Dict[str, Any]]:
        """Returns what the fingerprint says about each part, or [] if this is not a combined matrix."""
        return self.manifest["fingerprint"].get("combined", [])

    def _first_part(self) -> "Final":
        first = pathlib.PurePath(self.manifest["parts"][0])
        shard = re.search(r"-\d{5}-of-\d{5}$", self.path.stem)  # this matrix is a part of a merged one
        path = self.path.with_name(first.stem + (shard.group() if shard else "") + first.suffix)
        try:
            part = open_final(path)
        except FileNotFoundError:
            raise Damaged(f"{path}: this part of {self.path} is missing, and it has the list of the dropped rows") from None
        if part.manifest["xxh3_128"] != self._combined()[0]["xxh3_128"] or part.rows != self.rows:
            raise Damaged(f"{path}: this is not the matrix that {self.path} was made from")
        return part

    def _part_dims(self) -> List[int]:
        return [part["dim"] for part in self._combined()] or [self.dim]


def open_final(path: Path, load: bool = True) -> Final:
    """Opens a final or a combined matrix by the path of its .npy, .parquet or .arrow file.

    Raises FileNotFoundError if there is no matrix or no manifest: the matrix is not finished then. Raises Damaged if the
    files do not fit the manifest, and ImportError if a .parquet or .arrow file needs pyarrow. Sizes are compared here, and
    checksums of large files by Final.check(). With `load=False` the vectors of a .parquet or .arrow file are left out, for
    read_batches().
    """
    path = pathlib.Path(path)
    manifest = read_sealed_file(path.with_name(path.name + ".manifest.json"))
    if manifest["format"] not in FORMATS:
        raise Damaged(f"{path}: format {manifest['format']}; this reader knows {FORMATS}")
    return Final(path, manifest, load)
