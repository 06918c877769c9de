#!/usr/bin/python3
"""Exports a matrix into vector stores, with three kills each, and compares every row.

usage: tests/soak/export.py [ROWS] [STORE...]    default: 1000000 pgvector lance

It encodes ROWS texts (384 dimensions, a static model) to Parquet. For each store it kills the export three times with SIGKILL, after
about a quarter, a half and three quarters of the rows, and lets the fourth one finish. Then every id, text and vector of the
store is compared with the matrix, a repeated export must send nothing, and an export of a matrix with 1 % more rows must send only
these. pgvector is a real PostgreSQL (pgserver). The export may not hold more than 1.5 GiB.

It needs the programs and the environment .deps/python (scripts/setup.sh).
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".deps/python/bin/python"
if sys.prefix == sys.base_prefix:  # not in an environment
    os.execv(PYTHON, [PYTHON, "-B", *sys.argv])

import numpy as np  # noqa: E402  (the environment is only now the right one)
import pyarrow as pa  # noqa: E402
import pyarrow.parquet  # noqa: E402

ENCODE = os.environ.get("ENCODE_PROGRAM", str(ROOT / "build/bin/encode"))
WORK = pathlib.Path(os.environ.get("ENCODE_SOAK_DIR", ROOT / ".deps/export"))
MODEL = ROOT / "tests/data/sentence_transformers/static_embedding"
DIM = 384
BLOCK = 50_000
KILLS = 3
MAX_BYTES = 3 << 29


def make_model(folder):
    """Copies the static model with a random table of 384 columns."""
    shutil.copytree(MODEL, folder)
    path = next(folder.rglob("model.safetensors"))
    data = path.read_bytes()
    head = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    name = next(key for key in head if key != "__metadata__")
    vocabulary = head[name]["shape"][0]
    weights = np.random.default_rng(1).standard_normal((vocabulary, DIM), np.float32)
    text = json.dumps({name: {"dtype": "F32", "shape": [vocabulary, DIM], "data_offsets": [0, weights.nbytes]}}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + weights.tobytes())


def make_matrix(name, rows):
    """Encodes rows of different texts, and returns the path of the Parquet file."""
    output = WORK / f"{name}.parquet"
    texts = WORK / f"{name}.texts.parquet"
    words = "one two three four five six seven eight nine ten".split()
    table = pa.table({"id": [f"doc-{row:09d}" for row in range(rows)],
                      "text": [" ".join(words[row // 10**place % 10] for place in range(7)) + f" {row}" for row in range(rows)]})
    pyarrow.parquet.write_table(table, texts)
    subprocess.run([ENCODE, "run", "--model", WORK / "model", "--input", texts, "--field", "text", "--output", output, "--columns",
                    "id,text", "--device", "cpu", "--no-progress", "--quiet"], check=True,
                   env={**os.environ, "ARROW_ROOT": os.path.dirname(pa.__file__)})
    return output


class Peak:
    """The most memory that an export has held, as VmHWM says it until the export ends. getrusage() is no measure, because Linux
    also counts what this process held when it started the child."""
    bytes = 0

    @classmethod
    def watch(cls, process):
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                return
            if "VmHWM:" in status:  # a process that has just ended has none
                cls.bytes = max(cls.bytes, int(status.split("VmHWM:")[1].split()[0]) * 1024)
            time.sleep(0.2)


def start_export(store, source, into):
    process = subprocess.Popen([sys.executable, "-B", "-m", "encode_embeddings", "export", "--to", store, source, "--into", into,
                                "--id", "id", "--json"], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                               stdout=subprocess.PIPE)
    threading.Thread(target=Peak.watch, args=[process], daemon=True).start()
    return process


def finish_export(store, source, into):
    output, _ = start_export(store, source, into).communicate()
    report = json.loads(output)
    print(f"   {report}, peak memory of all exports {Peak.bytes >> 20} MiB", flush=True)
    return report


class PgVector:
    def __init__(self, folder):
        import pgserver
        import psycopg
        self.server = pgserver.get_server(folder)
        self.into = self.server.get_uri()
        self.connection = psycopg.connect(self.into, autocommit=True)

    def count(self):
        if self.connection.execute("SELECT to_regclass('embeddings')").fetchone()[0] is None:
            return 0
        return self.connection.execute("SELECT count(*) FROM embeddings").fetchone()[0]

    def rows(self, ids):
        """Returns the texts and vectors of ids."""
        with self.connection.cursor(binary=True) as cursor:
            found = {each: (text, np.frombuffer(vector[4:], ">f4").astype(np.float32)) for each, text, vector in cursor.execute(
                "SELECT id, text, vector_send(embedding) FROM embeddings WHERE id = ANY(%s)", [ids])}
        return [found.get(each) for each in ids]

    def close(self):
        self.connection.close()
        self.server.cleanup()


class Lance:
    def __init__(self, folder):
        self.into = str(folder / "rows.lance")

    def count(self):
        import lance
        try:
            return lance.dataset(self.into).count_rows()
        except (ValueError, FileNotFoundError):
            return 0

    def rows(self, ids):
        import lance
        dataset = lance.dataset(self.into)
        begin = int(ids[0].split("-")[1])  # the rows are in the order of the matrix
        table = dataset.to_table(columns=["id", "text", "embedding"], offset=begin, limit=len(ids))
        vectors = table["embedding"].combine_chunks().flatten().to_numpy().reshape(-1, DIM)
        found = {each: (text, vector) for each, text, vector in zip(table["id"].to_pylist(), table["text"].to_pylist(), vectors)}
        return [found.get(each) for each in ids]

    def close(self):
        pass


STORES = {"pgvector": PgVector, "lance": Lance}


def compare(store, source):
    """Counts the rows of a matrix that the store lacks or has with another text or vector."""
    wrong = begin = 0
    for batch in pyarrow.parquet.ParquetFile(source).iter_batches(batch_size=BLOCK):
        vectors = batch["embedding"].flatten().to_numpy().reshape(-1, DIM)
        for found, text, vector in zip(store.rows(batch["id"].to_pylist()), batch["text"].to_pylist(), vectors):
            wrong += found is None or found[0] != text or found[1].tobytes() != vector.tobytes()
        begin += len(batch)
    return wrong, begin


def check(name, source, longer, rows):
    folder = WORK / name
    folder.mkdir()
    store = STORES[name](folder)
    try:
        begun = time.monotonic()
        for kill in range(1, KILLS + 1):
            process = start_export(name, source, store.into)
            while store.count() < rows * kill // (KILLS + 1) and process.poll() is None:
                time.sleep(0.3)
            process.kill()
            process.communicate()
            print(f"   killed at {store.count():,} rows", flush=True)
        report = finish_export(name, source, store.into)
        seconds = time.monotonic() - begun
        wrong, compared = compare(store, source)
        again = finish_export(name, source, store.into)
        appended = finish_export(name, longer, store.into)
        extra = appended["rows"] - rows
        good = (wrong == 0 and compared == rows and report["changed"] == 0 and 0 < report["new"] < rows
                and again["new"] + again["changed"] == 0 and (appended["new"], appended["changed"]) == (extra, 0)
                and store.count() == rows + extra)
        print(f"{name}: {rows:,} rows in {seconds:.1f} s with {KILLS} kills; {wrong} of {compared:,} missing or changed, "
              f"{store.count() - rows - extra} doubled; {'right' if good else 'WRONG'}", flush=True)
        return good
    finally:
        store.close()


def main():
    rows = int(sys.argv[1]) if sys.argv[1:] else 1_000_000
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    make_model(WORK / "model")
    source, longer = make_matrix("rows", rows), make_matrix("longer", rows + rows // 100)
    good = all([check(name, source, longer, rows) for name in sys.argv[2:] or ("pgvector", "lance")])
    print(f"the largest export held {Peak.bytes >> 20} MiB")
    shutil.rmtree(WORK)
    sys.exit(not good or not 0 < Peak.bytes <= MAX_BYTES)


if __name__ == "__main__":
    main()
