"""An index file of FAISS, through the package faiss-cpu."""
import hashlib
import json
import os
import uuid
from typing import Any, Dict, List, Optional

import faiss
import numpy as np

from .._errors import EncodeError
from ._known import KnownRows
from ._lock import publish, take_lock
from ._rows import EXIT_CONFIG, EXIT_CREATE, EXIT_DATA, ID_NAMESPACE, Id, Rows, Source, check_facts

CHECKPOINT_ROWS = 1_000_000
METRICS = {"ip": faiss.METRIC_INNER_PRODUCT, "l2": faiss.METRIC_L2}


def file_hash(path: str) -> str:
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class Faiss:
    """An IndexIDMap2 of an exact index, in memory while the export runs.

    `x.export.npz` beside the index x has the ids, the hashes and the SHA-256 of the index. It is written as
    `x.export.next.npz` before a new index takes its name, and renamed after it, so that one of the two fits after every kill.
    """

    batch_rows = 0

    def __init__(self, source: Source, into: str, metric: str):
        self._source = source
        self._path = into
        self._state, self._next = f"{into}.export.npz", f"{into}.export.next.npz"
        self._unsaved = 0
        self._lock = take_lock(into)
        try:
            self._check_held_ids()
            found = self._load()
            if found:
                check_facts(json.loads(str(found["facts"])), source, into)
                self._index = faiss.read_index(into)
                self._ids, self._hashes = found["ids"], found["hashes"]
            else:
                self._index = faiss.IndexIDMap2(faiss.IndexFlat(source.dim, METRICS[metric]))
                self._ids, self._hashes = np.empty(0, np.int64), np.empty((0, 16), np.uint8)
            if self._index.metric_type != METRICS[metric]:
                raise EncodeError("the index has another metric", code="export.other", exit_code=EXIT_CONFIG, where=into,
                                  expected=metric, found=next(name for name in METRICS if name != metric),
                                  hint="give --metric, or choose another target")
            self._known = KnownRows()
            self._known.add(self._ids.tolist(), [row.tobytes() for row in self._hashes])
            self._known.sort()
        except BaseException:
            self.close()
            raise

    def _load(self) -> Optional[Dict[str, Any]]:
        """Returns the state that belongs to the index, or None if there is no index."""
        if not os.path.exists(self._path):
            return None
        states = [path for path in (self._state, self._next) if os.path.exists(path)]
        if not states:
            check_facts(None, self._source, self._path)
        digest = file_hash(self._path)
        for path in states:
            with np.load(path, allow_pickle=False) as data:
                if str(data["sha256"]) == digest:
                    return dict(data)
        raise EncodeError("the index is not the one that an export has written", code="export.damaged", exit_code=EXIT_CREATE,
                          where=self._path, expected=f"the SHA-256 in {self._state}", found=digest,
                          hint="choose another target, or delete the index to make it again")

    def _check_held_ids(self) -> None:
        """The ids are 63 bits, so two of very many strings could become the same id."""
        if self._source.id_column is None:
            return
        held = np.concatenate([np.empty(0, np.int64), *(np.array([self.hold(each) for each in ids], np.int64)
                                                        for ids in self._source.id_batches())])
        held.sort()
        if np.any(held[1:] == held[:-1]):
            raise EncodeError("two ids become the same number of 63 bits", code="export.duplicate", exit_code=EXIT_DATA,
                              where=self._source.path, expected="different numbers", found="a collision",
                              hint="leave out --id: the numbers of the rows are then the ids")

    def hold(self, value: Id) -> Id:
        """FAISS has ids of 64 bits with a sign. A string becomes the first 63 bits of its UUIDv5."""
        return uuid.uuid5(ID_NAMESPACE, value).int >> 65 if isinstance(value, str) else value

    def known(self, ids: List[Id]) -> Dict[Id, bytes]:
        return self._known.find(ids)

    def put(self, new: Rows, changed: Rows, batch: Rows) -> None:
        if len(changed):
            gone = np.array(changed.ids, np.int64)
            self._index.remove_ids(faiss.IDSelectorBatch(gone))
            kept = ~np.isin(self._ids, gone)
            self._ids, self._hashes = self._ids[kept], self._hashes[kept]
        for rows in (changed, new):
            if len(rows):
                ids = np.array(rows.ids, np.int64)
                self._index.add_with_ids(np.ascontiguousarray(rows.vectors), ids)
                self._ids = np.concatenate([self._ids, ids])
                self._hashes = np.concatenate([self._hashes, np.frombuffer(b"".join(rows.hashes), np.uint8).reshape(-1, 16)])
        self._unsaved += len(new) + len(changed)
        if self._unsaved >= CHECKPOINT_ROWS:
            self._save()

    def _save(self) -> None:
        partial = f"{self._path}.export.partial"
        faiss.write_index(self._index, partial)
        digest = file_hash(partial)
        with open(f"{self._next}.partial", "wb") as file:
            np.savez(file, ids=self._ids, hashes=self._hashes, sha256=digest, facts=json.dumps(self._source.facts()))
        publish(f"{self._next}.partial", self._next)
        publish(partial, self._path)
        publish(self._next, self._state)
        self._unsaved = 0

    def finish(self) -> None:
        if self._unsaved or not os.path.exists(self._path):
            self._save()

    def close(self) -> None:
        self._lock.close()
