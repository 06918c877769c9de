"""PostgreSQL with the extension pgvector, through psycopg."""
import json
import struct
import uuid
from typing import Any, Dict, List, Union

import psycopg
from psycopg import sql

from .._errors import EncodeError
from ._rows import EXIT_CONFIG, EXIT_DATA, ID_NAMESPACE, Id, Rows, Source, check_facts

MAX_DIM = 16000  # of the type vector
COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
COPY_END = struct.pack(">h", -1)
NULL = struct.pack(">i", -1)


def field(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def copy_data(rows: Rows) -> bytes:
    """Returns the rows in the binary format of COPY. A vector is its dimension, an unused number, and big-endian floats."""
    dim = rows.vectors.shape[1]
    floats = memoryview(rows.vectors.astype(">f4").tobytes())
    head = struct.pack(">ihh", 4 + 4 * dim, dim, 0)
    parts: List[Union[bytes, memoryview]] = []
    for index, (each, text, digest) in enumerate(zip(rows.ids, rows.texts, rows.hashes)):
        parts += (struct.pack(">h", 4), struct.pack(">iq", 8, each) if isinstance(each, int) else field(each.encode()),
                  NULL if text is None else field(text.encode()), head, floats[index * 4 * dim:(index + 1) * 4 * dim],
                  field(digest))
    return b"".join(parts)


class PgVector:
    """A table with the columns id, text, embedding and encode_hash. Each batch of rows is a transaction."""

    batch_rows = 0

    def __init__(self, source: Source, into: str, table: str):
        if source.dim > MAX_DIM:
            raise EncodeError("the vectors are too long for pgvector", code="export.dim", exit_code=EXIT_CONFIG, where=source.path,
                              expected=f"at most {MAX_DIM} numbers", found=str(source.dim), hint="set truncate_dim")
        self._source = source
        self._name = table
        self._table = sql.Identifier(*table.split("."))
        self._connection = psycopg.connect(into, autocommit=True)
        try:
            self._open()
        except BaseException:
            self._connection.close()
            raise

    def _execute(self, text: str, parameters: Any = ()) -> Any:
        return self._connection.execute(sql.SQL(text).format(table=self._table), parameters)

    def _open(self) -> None:
        locked = self._execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [f"encode {self._name}"]).fetchone()
        if not locked[0]:
            raise EncodeError("another export writes into this table", code="export.busy", exit_code=75, where=self._name,
                              expected="one export at a time", found="a lock of another session", hint="wait for its end")
        ids = "text" if self._source.id_column else "bigint"
        regclass = ".".join(f'"{part}"' for part in self._name.replace('"', '""').split("."))
        with self._connection.transaction():
            self._execute("CREATE EXTENSION IF NOT EXISTS vector")
            if self._execute("SELECT to_regclass(%s)", [regclass]).fetchone()[0] is None:
                self._execute(f"CREATE TABLE {{table}} (id {ids} PRIMARY KEY, text text, embedding vector({self._source.dim}) "
                              "NOT NULL, encode_hash bytea NOT NULL)")
                self._connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(
                    self._table, sql.Literal(json.dumps(self._source.facts()))))
            comment = self._execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [regclass]).fetchone()[0]
        try:
            facts = json.loads(comment or "")
        except ValueError:
            facts = None
        check_facts(facts, self._source, f"table {self._name}")

    def hold(self, value: Id) -> Id:
        """PostgreSQL has no strings with NUL."""
        return str(uuid.uuid5(ID_NAMESPACE, value)) if isinstance(value, str) and "\0" in value else value

    def known(self, ids: List[Id]) -> Dict[Id, bytes]:
        return dict(self._execute("SELECT id, encode_hash FROM {table} WHERE id = ANY(%s)", [ids]).fetchall())

    def put(self, new: Rows, changed: Rows, batch: Rows) -> None:
        for rows in (new, changed):
            for each, text in zip(rows.ids, rows.texts):
                if text is not None and "\0" in text:
                    raise EncodeError("a text has a NUL, which PostgreSQL cannot hold", code="export.text", exit_code=EXIT_DATA,
                                      where=f"{self._source.path}, id {each!r}", expected="text without U+0000", found="U+0000",
                                      hint="leave the texts out with --text '', or correct the text")
        with self._connection.transaction(), self._connection.cursor() as cursor:
            if len(changed):
                self._execute("DELETE FROM {table} WHERE id = ANY(%s)", [changed.ids])
            statement = sql.SQL("COPY {} (id, text, embedding, encode_hash) FROM STDIN (FORMAT BINARY)").format(self._table)
            with cursor.copy(statement) as copy:
                copy.write(COPY_HEAD)
                for rows in (new, changed):
                    for begin in range(0, len(rows), 1024):
                        copy.write(copy_data(rows.take(range(begin, min(begin + 1024, len(rows))))))
                copy.write(COPY_END)

    def finish(self) -> None:
        """Every batch is committed."""

    def close(self) -> None:
        self._connection.close()
