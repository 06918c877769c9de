"""Sealed JSON, ledgers, offsets and checksums."""
import dataclasses
import json
import pathlib
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np

Path = Union[str, pathlib.Path]

# A sealed object begins with {"checksum":"<32 hex digits>",
SEAL_BYTES = 47
HEADER_BYTES = 128  # of every .npy file that encode writes
FORMATS = (1, 2, 3, 4)  # of a manifest and of stream.json


class Damaged(Exception):
    """A file is unfinished or does not fit its manifest or its record."""


@dataclasses.dataclass(frozen=True)
class TruncatedRow:
    """A row that was cut at max_length."""
    row: int  # of the stream
    tokens: int  # that were encoded
    lost_tokens: int  # that were cut off


@dataclasses.dataclass(frozen=True)
class SetAsideRow:
    """A row without a vector, because encoding it failed."""
    row: int  # of the stream
    code: str  # of the error, as docs/errors.md lists them
    message: str


def hash_function() -> Optional[Callable[[bytes], str]]:
    """Returns XXH3-128 of the package xxhash, or None if the package is not installed."""
    try:
        import xxhash
    except ImportError:
        return None
    return xxhash.xxh3_128_hexdigest


def unique_keys(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Makes the dict of a JSON object. Raises ValueError if a key is there twice: json.loads() would keep the last value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def unseal(text: bytes, where: Path) -> Dict[str, Any]:
    """Returns the object of a sealed text without its newline. Compares the checksum if xxhash is installed. Raises Damaged."""
    if text[:13] != b'{"checksum":"' or text[45:SEAL_BYTES] != b'",':
        raise Damaged(f"{where}: the text has no checksum")
    checksum = hash_function()
    if checksum is not None and checksum(text[SEAL_BYTES:]) != text[13:45].decode("ascii", "replace"):
        raise Damaged(f"{where}: the checksum is wrong")
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except ValueError as error:
        raise Damaged(f"{where}: {error}") from None


def read_sealed_file(path: pathlib.Path) -> Dict[str, Any]:
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        raise Damaged(f"{path}: the file does not end with a newline")
    return unseal(text[:-1], path)


def check_size(path: pathlib.Path, seal: Dict[str, Any]) -> None:
    """Compares the size of a file with its manifest or record."""
    size = path.stat().st_size
    if size != seal["file_bytes"]:
        raise Damaged(f"{path}: {size} bytes, but {seal['file_bytes']} are expected")


def check_hash(path: pathlib.Path, expected: str) -> None:
    """Reads the whole file. Raises ImportError without the package xxhash."""
    try:
        import xxhash
    except ImportError as error:
        raise ImportError(f"comparing the checksum of {path} needs the package xxhash (pip install xxhash)") from error
    state = xxhash.xxh3_128()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            state.update(block)
    if state.hexdigest() != expected:
        raise Damaged(f"{path}: the checksum is wrong")


def map_matrix(path: pathlib.Path, dtype: str, rows: int, columns: int) -> np.ndarray:
    """Maps a matrix. A matrix without rows cannot be mapped, so it is an empty array."""
    if rows == 0 or columns == 0:
        return np.empty((rows, columns), dtype)
    matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    if matrix.shape != (rows, columns) or matrix.dtype != np.dtype(dtype):
        raise Damaged(f"{path}: {matrix.shape} {matrix.dtype}, but ({rows}, {columns}) {dtype} is expected")
    return matrix


def read_offsets(path: pathlib.Path, rows: int, vectors: int) -> np.ndarray:
    offsets = np.load(path, allow_pickle=False)
    good = offsets.shape == (rows + 1,) and offsets.dtype == np.dtype("<i8") and offsets[0] == 0
    if not good or offsets[-1] != vectors or np.any(np.diff(offsets) < 0):
        raise Damaged(f"{path}: the offsets do not fit the matrix")
    return offsets


def read_source_rows(path: pathlib.Path, rows: int) -> np.ndarray:
    records = np.load(path, allow_pickle=False)
    if records.shape != (rows,) or records.dtype != np.dtype("<i8") or np.any(np.diff(records) <= 0):
        raise Damaged(f"{path}: the source rows do not fit the matrix")
    return records


def read_ledger(path: pathlib.Path, seal: Optional[Dict[str, Any]], kind: type) -> List[Any]:
    """Reads a list of TruncatedRow or SetAsideRow.

    `seal` is what the manifest or the record says about the file; None: there is no such list, so it is empty. Raises Damaged
    if the file is missing, or is not the file that the seal describes.
    """
    if seal is None:
        return []
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise Damaged(f"{path}: the file is missing") from None
    checksum = hash_function()
    if len(content) != seal["file_bytes"] or (checksum is not None and checksum(content) != seal["xxh3_128"]):
        raise Damaged(f"{path}: its size or its checksum is not the one that is expected")
    names = [field.name for field in dataclasses.fields(kind)]
    try:
        return [kind(**{name: json.loads(line)[name] for name in names}) for line in content.splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path}: {error!r}") from None
