"""The rows that an export sends: ids, texts, vectors, and a hash of each row."""
import dataclasses
import hashlib
import json
import os
import struct
import uuid
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Union

from .._errors import EncodeError

if TYPE_CHECKING:
    import numpy

# Ids that a store cannot hold become uuid.uuid5(ID_NAMESPACE, id).
ID_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://encode.invalid/ids")
HASH_BYTES = 16
BATCH_BYTES = 64 << 20  # of vectors
MIN_BATCH, MAX_BATCH = 64, 65536
EXIT_DATA, EXIT_CREATE, EXIT_CONFIG = 65, 73, 78

Id = Union[int, str]


@dataclasses.dataclass(frozen=True)
class Rows:
    """Some rows in the order of the matrix."""
    ids: List[Id]
    texts: List[Optional[str]]
    vectors: "numpy.ndarray"  # float32 [n, dim]
    hashes: List[bytes]

    def take(self, indices: Sequence[int]) -> "Rows":
        return Rows([self.ids[index] for index in indices], [self.texts[index] for index in indices],
                    self.vectors[list(indices)], [self.hashes[index] for index in indices])

    def __len__(self) -> int:
        return len(self.ids)


def id_key(value: Id) -> bytes:
    return struct.pack("<cq", b"i", value) if isinstance(value, int) else b"s" + value.encode()


def row_hash(value: Id, text: Optional[str], vector: Union[bytes, memoryview]) -> bytes:
    """Returns the hash of a row. Equal hashes stand for equal ids, texts and vectors."""
    key = id_key(value)
    body = b"\0" if text is None else b"\1" + text.encode()
    return hashlib.blake2b(struct.pack("<QQ", len(key), len(body)) + key + body + vector, digest_size=HASH_BYTES).digest()


def joined(batches: List[Rows]) -> Rows:
    """Returns the rows of several batches as one."""
    import numpy as np
    if len(batches) == 1:
        return batches[0]
    return Rows([each for batch in batches for each in batch.ids], [each for batch in batches for each in batch.texts],
                np.concatenate([batch.vectors for batch in batches]), [each for batch in batches for each in batch.hashes])


class Source:
    """A finished matrix. Without `id_column` the id of a row is its number, and without `text_column` it has no text."""

    def __init__(self, path: "Union[str, os.PathLike[str]]", id_column: Optional[str] = None, text_column: Optional[str] = None):
        from encode_reader._batches import finals_of
        self.path = os.fspath(path)
        self.id_column = id_column
        finals = list(finals_of(self.path))
        first = finals[0]
        self.rows = sum(final.rows - final.manifest.get("dropped_rows", 0) for final in finals)
        self.text_column = text_column if text_column is not None or "text" not in first.columns else "text"
        if text_column == "":
            self.text_column = None
        self.dim = first.dim
        fingerprint = first.manifest["fingerprint"]
        kinds = [fingerprint.get(name) for name in ("model", "result", "combined")]
        # What decides the vectors of a text: the files of the model and the options of the result.
        self.vectors_of = hashlib.sha256(json.dumps([kinds, first.type], sort_keys=True).encode()).hexdigest()[:32]
        self.model = first.manifest.get("model", "")

    def facts(self) -> Dict[str, Any]:
        """Returns what a store keeps about its rows. An export into the store compares it."""
        return {"format": 1, "dim": self.dim, "vectors_of": self.vectors_of, "model": self.model,
                "ids": "strings" if self.id_column else "row numbers"}

    def batch_rows(self) -> int:
        return min(MAX_BATCH, max(MIN_BATCH, BATCH_BYTES // (4 * self.dim)))

    def batches(self, rows: int) -> Iterator[Rows]:
        """Yields batches of exactly `rows` rows, and a last one with the rest."""
        pending: List[Rows] = []
        count = 0
        for batch in self._read(rows):
            pending.append(batch)
            count += len(batch)
            if count >= rows:
                whole = joined(pending)
                yield whole.take(range(rows))
                pending = [whole.take(range(rows, count))]
                count -= rows
        if count:
            yield joined(pending)

    def id_batches(self) -> Iterator[List[Id]]:
        """Yields the ids alone."""
        from encode_reader import read_batches
        for batch in read_batches(self.path, MAX_BATCH, [self.id_column] if self.id_column else [], vectors=False):
            yield self._ids(batch)

    def _read(self, rows: int) -> Iterator[Rows]:
        from encode_reader import read_batches
        columns = [name for name in dict.fromkeys([self.id_column, self.text_column]) if name is not None]
        for batch in read_batches(self.path, rows, columns):
            ids = self._ids(batch)
            texts = batch.columns[self.text_column] if self.text_column else [None] * len(ids)
            data = memoryview(batch.vectors.tobytes())
            size = 4 * self.dim
            hashes = [row_hash(each, text, data[index * size:(index + 1) * size])
                      for index, (each, text) in enumerate(zip(ids, texts))]
            yield Rows(ids, texts, batch.vectors, hashes)

    def check_ids(self) -> None:
        """Reads the ids alone, and compares them with 8 bytes of memory for each row.

        Raises:
            EncodeError: Two rows have the same id, or a row has none.
        """
        if self.id_column is None:
            return
        import numpy as np
        from encode_reader import read_batches
        keys = np.concatenate([np.empty(0, np.uint64), *(
            np.frombuffer(b"".join(hashlib.blake2b(id_key(each), digest_size=8).digest() for each in ids), np.uint64)
            for ids in self.id_batches())])
        keys.sort()
        suspects = set(keys[1:][keys[1:] == keys[:-1]].tolist())
        if not suspects:
            return
        seen: Dict[Id, int] = {}
        for batch in read_batches(self.path, MAX_BATCH, [self.id_column], vectors=False):
            for row, each in zip(batch.row_numbers.tolist(), self._ids(batch)):
                key = int.from_bytes(hashlib.blake2b(id_key(each), digest_size=8).digest(), "little")
                if key in suspects:
                    if each in seen:
                        raise EncodeError("two rows have the same id", code="export.duplicate", exit_code=EXIT_DATA,
                                          where=f"{self.path}, column {self.id_column}", expected="an id of its own for each row",
                                          found=f"{each!r} in the rows {seen[each]} and {row}",
                                          hint="correct the ids, or leave out --id: the numbers of the rows are then the ids")
                    seen[each] = row

    def _ids(self, batch: Any) -> List[Id]:
        if self.id_column is None:
            numbers: List[Id] = batch.row_numbers.tolist()
            return numbers
        values = batch.columns[self.id_column]
        if None in values:
            raise EncodeError("a row has no id", code="export.id", exit_code=EXIT_DATA, where=f"{self.path}, column {self.id_column}",
                              expected="a value in every row", found=f"null in row {batch.row_numbers[values.index(None)]}",
                              hint="name a column that every row has, or leave out --id")
        return list(values)


def check_facts(found: Any, source: Source, where: str) -> None:
    """Compares what a store keeps about its rows with the matrix.

    Raises:
        EncodeError: The store was not made by an export, or has vectors of another model, other options or other ids.
    """
    if not isinstance(found, dict) or found.get("format") != 1:
        raise EncodeError("the target exists, and no export has made it", code="export.exists", exit_code=EXIT_CREATE, where=where,
                          expected="nothing, or what an earlier export has made", found="something else",
                          hint="choose another target")
    for name, wanted in source.facts().items():
        if name not in ("model", "format") and found.get(name) != wanted:
            raise EncodeError("the target has rows of another kind", code="export.other", exit_code=EXIT_CONFIG, where=where,
                              expected=f"{name}: {wanted} (model {source.model})",
                              found=f"{name}: {found.get(name)} (model {found.get('model')})",
                              hint="choose another target, or delete this one")
