"""A dataset of Lance, through the package pylance."""
import json
import os
from typing import Any, Dict, List

import lance
import pyarrow as pa

from .._errors import EncodeError
from ._known import KnownRows
from ._lock import take_lock
from ._rows import HASH_BYTES, Id, Rows, Source, check_facts

FACTS = b"encode.export"
SCAN_ROWS = 65536


class Lance:
    """A dataset with the columns id, text, embedding and encode_hash. Each batch of rows is a version of the dataset."""

    batch_rows = 0

    def __init__(self, source: Source, into: str):
        self._source = source
        self._path = into
        self._known = KnownRows()
        self._lock: Any = None
        local = "://" not in into
        if local:
            self._lock = take_lock(into)  # Lance sees no conflict between two writers that add the same new rows
        try:
            exists = os.path.exists(into) if local else self._opens()
            if not exists:
                lance.write_dataset(pa.Table.from_batches([], self._schema()), into, mode="create")
            self._dataset = self._open()
            check_facts(json.loads((self._dataset.schema.metadata or {}).get(FACTS, b"null")), source, into)
            for batch in self._dataset.scanner(columns=["id", "encode_hash"], batch_size=SCAN_ROWS).to_batches():
                self._known.add(batch["id"].to_pylist(), batch["encode_hash"].to_pylist())
            self._known.sort()
        except BaseException:
            self.close()
            raise

    def _schema(self) -> pa.Schema:
        ids = pa.string() if self._source.id_column else pa.int64()
        return pa.schema([pa.field("id", ids, False), ("text", pa.string()),
                          ("embedding", pa.list_(pa.float32(), self._source.dim)), ("encode_hash", pa.binary(HASH_BYTES))],
                         {FACTS: json.dumps(self._source.facts())})

    def _opens(self) -> bool:
        try:
            lance.dataset(self._path)
            return True
        except (ValueError, FileNotFoundError):
            return False

    def _open(self) -> Any:
        try:
            return lance.dataset(self._path)
        except (ValueError, FileNotFoundError, OSError) as error:
            raise EncodeError("the target exists, and is no dataset of Lance", code="export.exists", exit_code=73, where=self._path,
                              expected="nothing, or what an earlier export has made", found=str(error)[:500],
                              hint="choose another target") from error

    def _table(self, rows: Rows) -> pa.Table:
        schema = self._dataset.schema
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.vectors.reshape(-1)), self._source.dim)
        return pa.Table.from_arrays([pa.array(rows.ids, schema.field("id").type), pa.array(rows.texts, pa.string()), vectors,
                                     pa.array(rows.hashes, pa.binary(HASH_BYTES))], schema=schema)

    def hold(self, value: Id) -> Id:
        return value

    def known(self, ids: List[Id]) -> Dict[Id, bytes]:
        return self._known.find(ids)

    def put(self, new: Rows, changed: Rows, batch: Rows) -> None:
        if len(changed):
            rows = pa.concat_tables([self._table(changed), self._table(new)])
            self._dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
            self._dataset = self._open()
        else:
            self._dataset = lance.write_dataset(self._table(new), self._dataset, mode="append")

    def finish(self) -> None:
        """Every batch is committed."""

    def close(self) -> None:
        if self._lock:
            self._lock.close()
