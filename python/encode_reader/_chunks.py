"""The committed chunks of a stream whose final does not exist yet."""
import dataclasses
import pathlib
from typing import Any, Dict, List, Optional

import numpy as np

from ._files import (FORMATS, HEADER_BYTES, Damaged, Path, SetAsideRow, TruncatedRow, check_hash, check_size, map_matrix,
                     read_ledger, read_offsets, read_sealed_file, unseal)

# The files that may belong to a chunk: the key of the record, and the suffix.
PARTS = (("ledger", ".truncated.jsonl"), ("offsets", ".offsets.npy"), ("set_aside", ".set_aside.jsonl"),
         ("passages", ".passages.npy"))


@dataclasses.dataclass(frozen=True)
class Chunk:
    """A committed range of rows. It stays as it is until the final is published and the chunks are removed."""
    index: int
    begin: int  # the first row of the stream
    end: int  # the row after the last one
    path: pathlib.Path
    record: Dict[str, Any]  # the line of chunks.log

    def check(self) -> None:
        """Compares the sizes and checksums of the chunk's files. Needs the package xxhash. Raises Damaged."""
        check_size(self.path, self.record)
        check_hash(self.path, self.record["xxh3_128"])
        for key, suffix in PARTS:
            if key in self.record:
                path = self.path.with_name(self.path.stem + suffix)
                check_size(path, self.record[key])
                check_hash(path, self.record[key]["xxh3_128"])

    def truncated(self) -> List[TruncatedRow]:
        return self._ledger("ledger", TruncatedRow)

    def set_aside(self) -> List[SetAsideRow]:
        """Returns the rows whose encoding failed; their vectors are zeros."""
        return self._ledger("set_aside", SetAsideRow)

    def _ledger(self, key: str, kind: type) -> List[Any]:
        return read_ledger(self.path.with_name(self.path.stem + dict(PARTS)[key]), self.record.get(key), kind)


class Chunks:
    """The chunks of one stream. open_chunks() makes it, and refresh() reads what was committed since."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.stream = read_sealed_file(folder / "stream.json")
        if self.stream["format"] not in FORMATS or self.stream["dtype"] != "<f4":
            raise Damaged(f"{folder}/stream.json: unknown format")
        self.rows: int = self.stream["rows"]
        self.first_row: int = self.stream.get("first_row", 0)  # above 0 only in a shard
        self.dim: int = self.stream["dim"]
        self.chunk_rows: int = self.stream["chunk_rows"]
        self.token_embeddings: bool = self.stream.get("token_embeddings", False)
        self.passages: bool = self.stream.get("passages", False)  # a row has a vector for each of its passages
        self.committed: List[Chunk] = []  # in the order of their rows
        self.refresh()

    @property
    def rows_committed(self) -> int:
        return sum(chunk.end - chunk.begin for chunk in self.committed)

    def refresh(self) -> None:
        """Reads the log again. A line that is damaged or unfinished is left out, as encode does it."""
        found: Dict[int, Chunk] = {}
        for line in (self.folder / "chunks.log").read_bytes().split(b"\n")[:-1]:
            chunk = self._chunk(line)
            if chunk is not None:
                found[chunk.index] = chunk
        self.committed = [found[index] for index in sorted(found)]

    def read(self, chunk: Chunk) -> np.ndarray:
        """Maps the vectors of a chunk: float32 [rows, dim], or [tokens or passages, dim] if a row has several. Raises Damaged."""
        check_size(chunk.path, chunk.record)
        return map_matrix(chunk.path, "<f4", self._vectors(chunk.record["stats"], chunk.end - chunk.begin), self.dim)

    def offsets(self, chunk: Chunk) -> np.ndarray:
        """Returns where the vectors of each row of the chunk begin, int64 [rows + 1]. Only if a row has several."""
        rows = chunk.end - chunk.begin
        path = chunk.path.with_name(chunk.path.stem + ".offsets.npy")
        return read_offsets(path, rows, self._vectors(chunk.record["stats"], rows))

    def _place(self, index: int) -> pathlib.Path:
        folder_chunks = self.stream.get("folder_chunks", 0)  # streams of many chunks have sub-folders
        folder = self.folder / f"{index // folder_chunks:03d}" if folder_chunks else self.folder
        return folder / f"chunk_{index:04d}.npy"

    def _vectors(self, stats: Dict[str, Any], rows: int) -> int:
        if self.token_embeddings:
            return stats["tokens"]
        return stats.get("passages", 0) if self.passages else rows

    def _chunk(self, line: bytes) -> Optional[Chunk]:
        try:
            record = unseal(line, self.folder / "chunks.log")
            index = record["index"]
            begin = self.first_row + index * self.chunk_rows
            end = min(self.first_row + self.rows, begin + self.chunk_rows)
            vectors = self._vectors(record["stats"], end - begin)
            if record["stream"] != self.stream["checksum"] or record["rows"] != [begin, end] or not 0 <= begin < end:
                return None
            if record["file_bytes"] != HEADER_BYTES + vectors * self.dim * 4 or ("passages" in record) != self.passages:
                return None
            if ("offsets" in record) != (self.token_embeddings or self.passages):
                return None
            return Chunk(index, begin, end, self._place(index), record)
        except (Damaged, KeyError, TypeError):
            return None


def open_chunks(cache_dir: Path, stream: str) -> Chunks:
    """Opens the chunks of a stream, such as "train_tc", while its run goes on or after it was stopped.

    Raises FileNotFoundError if the stream has not begun, or is finished and its chunks are removed.
    """
    return Chunks(pathlib.Path(cache_dir) / f"{stream}_chunks")
