"""export(): sends the rows that a store does not have."""
import dataclasses
import os
import time
from typing import Any, Callable, Dict, List, Optional, Protocol, Tuple, Union

from .._errors import EncodeError
from ._rows import Id, Rows, Source

EXIT_MISSING = 69


class Store(Protocol):
    """A vector store. An export opens it, and closes it at its end. One export at a time writes into a store."""

    batch_rows: int  # the rows of each batch; 0: any number

    def hold(self, value: Id) -> Id:
        """Returns the id in the form in which the store holds it."""

    def known(self, ids: List[Id]) -> Dict[Id, bytes]:
        """Returns the hashes of those rows that the store has."""

    def put(self, new: Rows, changed: Rows, batch: Rows) -> None:
        """Adds rows and replaces rows of `batch`, which known() has seen before. A reader of the store sees all of them or none."""

    def finish(self) -> None:
        """Publishes what put() has left in memory."""

    def close(self) -> None:
        """Releases the store, also after an error."""


@dataclasses.dataclass
class Report:
    """What an export has done. `new` + `changed` rows were sent."""
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    seconds: float = 0

    @property
    def rows(self) -> int:
        return self.new + self.changed + self.unchanged


def open_store(name: str, source: Source, into: str, options: Dict[str, Any]) -> Store:
    """Raises ImportError with the command that installs the client of the store."""
    try:
        if name == "pgvector":
            from ._pgvector import PgVector
            return PgVector(source, into, options.get("table") or "embeddings")
        if name == "lance":
            from ._lance import Lance
            return Lance(source, into)
        if name == "faiss":
            from ._faiss import Faiss
            return Faiss(source, into, options.get("metric") or "ip")
        if name == "hf-dataset":
            from ._hf_dataset import HfDataset
            return HfDataset(source, into, options.get("batch_rows") or source.batch_rows())
    except ImportError as error:
        raise ImportError(f"the store {name} needs its client: pip install 'encode_embeddings[{name}]'. The import failed with: "
                          f"{error}") from error
    raise EncodeError("there is no such store", code="export.store", exit_code=64, where="--to", expected=" or ".join(STORES),
                      found=repr(name))


STORES = ("pgvector", "lance", "faiss", "hf-dataset")


def export(source: "Union[str, os.PathLike[str]]", *, to: str, into: str, id_column: Optional[str] = None,
           text_column: Optional[str] = None, batch_rows: int = 0, progress: Optional[Callable[[Report], None]] = None,
           **options: Any) -> Report:
    """Sends the rows of a finished matrix into a vector store, in their order, a batch at a time.

    A row that the store has already is not sent: the store keeps a hash of the id, the text and the vector of each row. So an
    export that was interrupted or killed is continued by the same call, and a call for a matrix with more rows sends only those.

    Args:
        source: A matrix (.npy, .parquet, .arrow) or the list x.parts.json of a merged one.
        to: The store, one of STORES.
        into: The place of the store: a connection string, a folder or a file.
        id_column: The column of a table that has the ids. None: the numbers of the rows.
        text_column: The column that has the texts. None: `text`, if the table has it; "": the rows have no texts.
        batch_rows: How many rows are sent together; 0: about 64 MiB of vectors.
        progress: A function that gets the report after each batch.
        **options: `table` for pgvector; `metric` for faiss, "ip" or "l2".

    Returns:
        How many rows were new, changed and unchanged.

    Raises:
        EncodeError: The ids are not unique, or the store has rows of another kind.
        ImportError: The client of the store is missing.
    """
    begun = time.monotonic()
    rows = Source(source, id_column, text_column)
    rows.check_ids()
    store = open_store(to, rows, into, {**options, "batch_rows": batch_rows})
    report = Report()
    try:
        for batch in rows.batches(store.batch_rows or batch_rows or rows.batch_rows()):
            held = _held(store, batch)
            new, changed = _difference(store, held)
            if len(new) or len(changed):
                store.put(new, changed, held)
            report.new += len(new)
            report.changed += len(changed)
            report.unchanged += len(batch) - len(new) - len(changed)
            report.seconds = time.monotonic() - begun
            if progress:
                progress(report)
        store.finish()
    finally:
        store.close()
    report.seconds = time.monotonic() - begun
    return report


def _held(store: Store, batch: Rows) -> Rows:
    return Rows([store.hold(each) for each in batch.ids], batch.texts, batch.vectors, batch.hashes)


def _difference(store: Store, held: Rows) -> Tuple[Rows, Rows]:
    """Returns the rows that the store does not have, and those that it has with another text or vector."""
    known = store.known(held.ids)
    new = [index for index, each in enumerate(held.ids) if each not in known]
    changed = [index for index, each in enumerate(held.ids) if each in known and known[each] != held.hashes[index]]
    return held.take(new), held.take(changed)
