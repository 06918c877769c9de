#!/usr/bin/env python3
"""Does the work of `columnar.sh million`: tables.py FOLDER_OF_PROGRAMS WORK_FOLDER ROWS MODEL"""
import json
import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import duckdb
import numpy
import pandas
import pyarrow
import pyarrow.ipc
import pyarrow.parquet

FILES = 10
BLOCK = 20_000
MAX_BYTES = 400 << 20
MAX_READING = 0.02
WORDS = "alpha beta gamma delta green river stone light paper train cloud music table garden winter silver".split()


def text_of(row):
    return f"{WORDS[row % 16]} {WORDS[row // 16 % 16]} {WORDS[row // 256 % 16]} {row % 1000}"


def write_inputs(folder, rows):
    for part in range(FILES):
        numbers = range(part * rows // FILES, (part + 1) * rows // FILES)
        table = pyarrow.table({"_id": [f"doc-{row}" for row in numbers], "number": list(numbers),
                               "text": [text_of(row) for row in numbers]})
        pyarrow.parquet.write_table(table, folder / f"part-{part}.parquet", compression="zstd", row_group_size=BLOCK)


def in_child(work, *arguments):
    """The peak memory of a program that is started later begins with the one of its parent, so a child does the work."""
    child = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        sys.exit("error: the files cannot be written")


class Runs:
    def __init__(self, programs, folder, model):
        self.encode, self.folder, self.model = programs / "encode", folder, model
        self.log = folder / "runs.log"
        self.seconds = 0.0

    def start(self, suffix):
        columns = [] if suffix == "npy" else ["--columns", "row,_id,text,number"]
        command = [self.encode, "run", "--model", self.model, "--input", self.folder / "part-*.parquet", "--field", "text",
                   "--output", self.folder / f"m.{suffix}", "--output-format", suffix, "--cache-dir", self.folder / "cache",
                   "--device", "cpu", "--keep-chunks", "--no-progress", *columns]
        with self.log.open("a") as log:
            return subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, start_new_session=True)

    def committed(self):
        log = self.folder / "cache/m_chunks/chunks.log"
        return log.read_bytes().count(b"\n") if log.exists() else 0

    def kill_when(self, suffix, what, due):
        begin = time.monotonic()
        process = self.start(suffix)
        while not due() and process.poll() is None:
            time.sleep(0.002)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        self.seconds += time.monotonic() - begin
        if status != -signal.SIGKILL:
            sys.exit(f"error: the run ended with {status} before it was killed {what}; see {self.log}")
        print(f"killed {what}: {self.committed()} chunks are committed", flush=True)

    def finish(self, suffix):
        begin = time.monotonic()
        process = self.start(suffix)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        seconds = time.monotonic() - begin
        if status:
            sys.exit(f"error: the run for .{suffix} failed; see {self.log}")
        path = self.folder / f"m.{suffix}"
        print(f"m.{suffix}: {path.stat().st_size / 1e6:.1f} MB, {seconds:.1f} s, peak memory of encode "
              f"{usage.ru_maxrss / 1024:.0f} MiB", flush=True)
        self.seconds += seconds
        if usage.ru_maxrss * 1024 > MAX_BYTES:
            sys.exit("error: too much memory")


def run_all(runs, folder, rows):
    chunks = (rows + 999) // 1000
    for part in (1, 2):
        runs.kill_when("parquet", f"after {part}/3 of the chunks", lambda: runs.committed() >= part * chunks / 3)
    runs.kill_when("parquet", "while the Parquet file is written",
                   lambda: any(file.stat().st_size > 4 for file in folder.glob(".m.parquet.tmp.*")))
    runs.finish("parquet")
    encoding = runs.seconds
    runs.finish("npy")
    runs.finish("arrow")
    return encoding


def check_pyarrow(folder, rows):
    matrix = numpy.load(folder / "m.npy", mmap_mode="r")
    assert matrix.shape[0] == rows, matrix.shape
    parquet = pyarrow.parquet.ParquetFile(folder / "m.parquet")
    arrow = pyarrow.ipc.open_file(pyarrow.memory_map(str(folder / "m.arrow")))
    groups = (parquet.read_row_group(i) for i in range(parquet.num_row_groups))
    batches = (pyarrow.Table.from_batches([arrow.get_batch(i)]) for i in range(arrow.num_record_batches))
    for name, tables in (("Parquet", groups), ("Arrow", batches)):
        row, count = 0, 0
        for table in tables:
            end = row + len(table)
            items = table["embedding"].combine_chunks()
            assert pyarrow.types.is_fixed_size_list(items.type), items.type
            vectors = items.flatten().to_numpy().reshape(len(table), -1)
            assert vectors.tobytes() == matrix[row:end].tobytes(), f"the vectors of rows {row} to {end} differ"
            numbers = range(row, end)
            assert table["row"].to_pylist() == list(numbers)
            assert table["_id"].to_pylist() == [f"doc-{i}" for i in numbers]
            assert table["text"].to_pylist() == [text_of(i) for i in numbers]
            assert table["number"].to_pylist() == [str(i) for i in numbers]
            assert len(table) * matrix.shape[1] * 4 <= 33 << 20, "a row group is too large"
            row, count = end, count + 1
        assert row == rows, row
        print(f"pyarrow: {rows} rows of {name} in {count} groups have the bits of the .npy file, the order, ids and texts")


def check_duckdb(folder, rows):
    connection = duckdb.connect()
    inputs = [str(folder / f"part-{part}.parquet") for part in range(FILES)]
    out = str(folder / "m.parquet")
    wrong = connection.execute(
        "SELECT count(*) FROM (SELECT row, _id, text FROM read_parquet(?)) o POSITIONAL JOIN "
        "(SELECT _id, text, number FROM read_parquet(?)) i "
        "WHERE o._id IS DISTINCT FROM i._id OR o.text IS DISTINCT FROM i.text OR o.row IS DISTINCT FROM i.number",
        [out, inputs]).fetchone()[0]
    assert wrong == 0, f"{wrong} rows differ from the input"
    found = connection.execute("SELECT count(*), count(DISTINCT _id), min(row), max(row) FROM read_parquet(?)", [out]).fetchone()
    assert found == (rows, rows, 0, rows - 1), found
    matrix = numpy.load(folder / "m.npy", mmap_mode="r")
    for begin in range(0, rows, BLOCK):
        vectors = duckdb.connect().sql("SELECT embedding FROM read_parquet(?) WHERE row >= ? AND row < ? ORDER BY row",
                                       params=[out, begin, begin + BLOCK]).to_arrow_table()
        items = vectors["embedding"].combine_chunks().flatten().to_numpy()
        assert items.tobytes() == matrix[begin:begin + BLOCK].tobytes(), f"the vectors after row {begin} differ"
    print(f"duckdb: {rows} rows have the ids, texts and order of the input and the bits of the .npy file")


def check_others(folder, rows):
    import datasets
    matrix = numpy.load(folder / "m.npy", mmap_mode="r")
    few = min(rows, 2000)
    frame = pandas.read_parquet(folder / "m.parquet", filters=[("row", "<", few)])
    assert list(frame["_id"]) == [f"doc-{i}" for i in range(few)]
    assert numpy.stack(frame["embedding"].to_list()).tobytes() == matrix[:few].tobytes()
    for kind in ("parquet", "arrow"):
        stream = datasets.load_dataset(kind, data_files=str(folder / f"m.{kind}"), split="train", streaming=True)
        for i, row in enumerate(stream.take(few)):
            assert row["row"] == i and row["text"] == text_of(i)
            assert numpy.asarray(row["embedding"], numpy.float32).tobytes() == matrix[i].tobytes()
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    from encode_reader import open_final
    for kind in ("parquet", "arrow"):
        final = open_final(folder / f"m.{kind}")
        assert final.matrix[:few].tobytes() == matrix[:few].tobytes()
    assert final.column("_id")[few - 1] == f"doc-{few - 1}"
    print(f"pandas, datasets and encode_reader: {few} rows are equal")


def check_reading(programs, folder, rows, encoding):
    output = subprocess.run([programs / "text_benchmark", "--benchmark_filter=file", folder / "part-0.parquet", "text"],
                            check=True, capture_output=True, text=True).stdout
    rates = dict(re.findall(r"^file/(\w+) .*items_per_second=(\S+)", output, re.MULTILINE))
    units = {"k": 1e3, "M": 1e6, "G": 1e9}
    value = {name: float(rate.rstrip("/skMG")) * units.get(rate.rstrip("/s")[-1:], 1) for name, rate in rates.items()}
    # One run scans the input, its worker reads it, and the final reads it for its columns.
    reading = rows / value["scan"] + 2 * rows / value["read"]
    print(f"reading {rows} rows takes {reading:.2f} s, {100 * reading / encoding:.2f} % of the {encoding:.1f} s of the runs")
    if reading > MAX_READING * encoding:
        sys.exit(f"error: more than {100 * MAX_READING} %")


def main():
    programs, folder, rows, model = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    in_child(write_inputs, folder, rows)
    runs = Runs(programs, folder, model)
    encoding = run_all(runs, folder, rows)
    for suffix in ("parquet", "npy", "arrow"):
        report = subprocess.run([programs / "encode", "verify", "--json", folder / f"m.{suffix}"], capture_output=True, text=True)
        assert report.returncode == 0 and json.loads(report.stdout)["matrices"][0]["rows"] == rows, report.stdout
    check_pyarrow(folder, rows)
    check_duckdb(folder, rows)
    check_others(folder, rows)
    check_reading(programs, folder, rows, encoding)


if __name__ == "__main__":
    main()
