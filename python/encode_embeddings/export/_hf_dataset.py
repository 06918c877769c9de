"""A folder of Parquet files that the package datasets loads."""
import json
import os
from typing import Any, Dict, List

import datasets
import pyarrow as pa
import pyarrow.parquet

from .._errors import EncodeError
from ._lock import publish, take_lock
from ._rows import EXIT_CONFIG, EXIT_CREATE, HASH_BYTES, Id, Rows, Source, check_facts

FACTS = ".export.json"


class HfDataset:
    """Shards of equal numbers of rows, in the order of the matrix, with the columns id, text, embedding and encode_hash.

    A shard that has other rows than the matrix is written again as a whole.
    """

    def __init__(self, source: Source, into: str, batch_rows: int):
        self._source = source
        self._folder = into
        self._shard = -1
        self._lock = take_lock(into)
        try:
            self.batch_rows = self._open(batch_rows)
        except BaseException:
            self.close()
            raise

    def _open(self, batch_rows: int) -> int:
        """Returns the rows of a shard."""
        facts = os.path.join(self._folder, FACTS)
        if not os.path.exists(facts):
            if os.path.exists(self._folder) and (not os.path.isdir(self._folder) or os.listdir(self._folder)):
                check_facts(None, self._source, self._folder)
            os.makedirs(os.path.join(self._folder, "data"), exist_ok=True)
            with open(f"{facts}.partial", "w", encoding="utf-8") as file:
                json.dump({**self._source.facts(), "shard_rows": batch_rows}, file)
            publish(f"{facts}.partial", facts)
        with open(facts, encoding="utf-8") as file:
            found = json.load(file)
        check_facts(found, self._source, self._folder)
        rows = int(found["shard_rows"])
        needed = -(-self._source.rows // rows)
        if os.path.exists(self._path(needed)):
            raise EncodeError("the dataset has more rows than the matrix", code="export.other", exit_code=EXIT_CONFIG,
                              where=self._path(needed), expected=f"at most {needed} files", found="this file",
                              hint="choose another target, or delete this one")
        return rows

    def _path(self, shard: int) -> str:
        return os.path.join(self._folder, "data", f"train-{shard:06d}.parquet")

    def hold(self, value: Id) -> Id:
        return value

    def known(self, ids: List[Id]) -> Dict[Id, bytes]:
        """Returns the rows of the next shard."""
        self._shard += 1
        if not os.path.exists(self._path(self._shard)):
            return {}
        try:
            table = pyarrow.parquet.read_table(self._path(self._shard), columns=["id", "encode_hash"])
        except (pa.ArrowInvalid, OSError, KeyError) as error:
            raise EncodeError("a file of the dataset cannot be read", code="export.damaged", exit_code=EXIT_CREATE,
                              where=self._path(self._shard), expected="a file that an export has written", found=str(error)[:500],
                              hint="delete this file: the export writes it again") from error
        return dict(zip(table["id"].to_pylist(), table["encode_hash"].to_pylist()))

    def put(self, new: Rows, changed: Rows, batch: Rows) -> None:
        ids = pa.string() if self._source.id_column else pa.int64()
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(batch.vectors.reshape(-1)), self._source.dim)
        table = pa.table({"id": pa.array(batch.ids, ids), "text": pa.array(batch.texts, pa.string()), "embedding": vectors,
                          "encode_hash": pa.array(batch.hashes, pa.binary())})
        path = self._path(self._shard)
        partial = os.path.join(self._folder, f".{os.path.basename(path)}.partial")
        hidden = datasets.utils.are_progress_bars_disabled()
        datasets.disable_progress_bars()
        try:
            datasets.Dataset(datasets.table.InMemoryTable(table)).to_parquet(partial)
        finally:
            if not hidden:
                datasets.enable_progress_bars()
        publish(partial, path)

    def finish(self) -> None:
        """Every shard is published."""

    def close(self) -> None:
        self._lock.close()
