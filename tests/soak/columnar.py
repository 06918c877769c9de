#!/usr/bin/python3
"""Checks Parquet and Arrow files as inputs and as outputs.

usage: tests/soak/columnar.py [ROWS]            inputs; default: 1000000
       tests/soak/columnar.py million [ROWS]    outputs; default: 1000000

The first one times the reading of the rows from Parquet and Arrow files, beside the same rows as JSONL, and shows the peak
memory. First it checks that the rows of all formats are equal. It needs a Python 3.11 for the pyarrow of
scripts/deps/pins.txt. This pyarrow refuses the NumPy of Debian 12 and works without one, so it runs in the interpreter of
.deps/venv.

The second one encodes the rows of ten Parquet files (zstd) with all-MiniLM-L6-v2 to Parquet, kills the run three times, the
last time while the Parquet file is written, and makes a .npy and an Arrow file of the same chunks. pyarrow and DuckDB compare
vectors, order, ids and texts of all rows, and pandas, datasets and python/encode_reader those of the first ones. The memory
of encode and the time for reading must be within limits. It installs its Python packages in a venv of its own.

Both need a build with --all.
"""
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/bin"
WORK = pathlib.Path(os.environ.get("ENCODE_SOAK_DIR", ROOT / ".deps/columnar"))
MODEL = ROOT / ".deps/models/all-MiniLM-L6-v2"
TOKENIZER = ROOT / "tests/data/tokenizer/wordpiece/tokenizer.json"
READERS = ("pyarrow==26.0.1", "datasets==5.2.0", "duckdb==2.0.1", "numpy==2.4.6", "pandas==3.1.1")
MAX_BYTES = 400 << 20
GROUP_ROWS = 100_000
CHECKED_ROWS = 20_000
FILES = 10
BLOCK = 20_000
MAX_READING = 0.02
WORDS = "alpha beta gamma delta green river stone light paper train cloud music table garden winter silver".split()


def in_child(work, *arguments):
    """The peak memory of a program that is started later begins with the one of its parent, so a child does the work."""
    child = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        sys.exit("error: the files cannot be written")


def test_text(row):
    return f"def test_{row}(self): self.assertEqual(f({row % 97}), '{row * 7919 % 1000003}')\n" * (1 + row % 8)


def paths_in(folder):
    """Returns {name: path} of the formats."""
    return {name: folder / f"{name}.{suffix}" for name, suffix in
            [("jsonl", "jsonl"), ("parquet_zstd", "parquet"), ("parquet_one_group", "parquet"), ("ipc_file", "arrow"),
             ("ipc_stream_lz4", "arrow")]}


def write_formats(folder, rows):
    """Writes the same rows in each format."""
    import pyarrow
    import pyarrow.parquet
    paths = paths_in(folder)
    texts = [test_text(row) for row in range(rows)]
    table = pyarrow.table({"id": pyarrow.array(range(rows)), "text": texts})
    with paths["jsonl"].open("w") as file:
        for row, text in enumerate(texts):
            file.write(json.dumps({"id": row, "text": text}) + "\n")
    pyarrow.parquet.write_table(table, paths["parquet_zstd"], compression="zstd", row_group_size=GROUP_ROWS)
    pyarrow.parquet.write_table(table, paths["parquet_one_group"], compression="zstd", row_group_size=rows)
    with pyarrow.ipc.new_file(paths["ipc_file"], table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
    with pyarrow.ipc.new_stream(paths["ipc_stream_lz4"], table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1000)


def run(command):
    """Returns the output and the peak resident bytes of a command."""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"error: {command} failed")
    return output, usage.ru_maxrss * 1024


def measure(name, path):
    output, peak = run([PROGRAMS / "text_benchmark", "--benchmark_filter=file", path, "text"])
    rates = dict(re.findall(r"^file/(\w+) .*items_per_second=(\S+)", output, re.MULTILINE))
    print(f"{name:18} {path.stat().st_size / 1e6:7.1f} MB   scan {rates['scan']:>9} rows/s   read again {rates['read']:>9} rows/s   "
          f"peak {peak / 1e6:5.0f} MB", flush=True)
    if peak > MAX_BYTES:
        sys.exit(f"error: more than {MAX_BYTES / 1e6:.0f} MB")


def compare(folder):
    """The token ids of all rows must be equal for all formats."""
    in_child(write_formats, folder, CHECKED_ROWS)
    ids = set()
    for path in paths_in(folder).values():
        run([PROGRAMS / "encode", "tokenize", "--tokenizer", TOKENIZER, "--input", path, "--field", "text",
             "--output", folder / "ids.out", "--overwrite"])
        ids.add((folder / "ids.out").read_bytes())
    if len(ids) != 1:
        sys.exit("error: the rows of the formats differ")
    print(f"{CHECKED_ROWS} rows of each format are equal")


def check_inputs(rows):
    small = WORK / "small"
    small.mkdir(exist_ok=True)
    compare(small)
    in_child(write_formats, WORK, rows)
    for name, path in paths_in(WORK).items():
        measure(name, path)


def text_of(row):
    return f"{WORDS[row % 16]} {WORDS[row // 16 % 16]} {WORDS[row // 256 % 16]} {row % 1000}"


def write_inputs(folder, rows):
    import pyarrow
    import pyarrow.parquet
    for part in range(FILES):
        numbers = range(part * rows // FILES, (part + 1) * rows // FILES)
        table = pyarrow.table({"_id": [f"doc-{row}" for row in numbers], "number": list(numbers),
                               "text": [text_of(row) for row in numbers]})
        pyarrow.parquet.write_table(table, folder / f"part-{part}.parquet", compression="zstd", row_group_size=BLOCK)


class Runs:
    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "runs.log"
        self.seconds = 0.0

    def start(self, suffix):
        columns = [] if suffix == "npy" else ["--columns", "row,_id,text,number"]
        command = [PROGRAMS / "encode", "run", "--model", MODEL, "--input", self.folder / "part-*.parquet", "--field", "text",
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
    import numpy
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet
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
    import duckdb
    import numpy
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
    import numpy
    import pandas
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
    sys.path.insert(0, str(ROOT / "python"))
    from encode_reader import open_final
    for kind in ("parquet", "arrow"):
        final = open_final(folder / f"m.{kind}")
        assert final.matrix[:few].tobytes() == matrix[:few].tobytes()
    assert final.column("_id")[few - 1] == f"doc-{few - 1}"
    print(f"pandas, datasets and encode_reader: {few} rows are equal")


def check_reading(folder, rows, encoding):
    output = subprocess.run([PROGRAMS / "text_benchmark", "--benchmark_filter=file", folder / "part-0.parquet", "text"],
                            check=True, capture_output=True, text=True).stdout
    rates = dict(re.findall(r"^file/(\w+) .*items_per_second=(\S+)", output, re.MULTILINE))
    units = {"k": 1e3, "M": 1e6, "G": 1e9}
    value = {name: float(rate.rstrip("/skMG")) * units.get(rate.rstrip("/s")[-1:], 1) for name, rate in rates.items()}
    # One run scans the input, its worker reads it, and the final reads it for its columns.
    reading = rows / value["scan"] + 2 * rows / value["read"]
    print(f"reading {rows} rows takes {reading:.2f} s, {100 * reading / encoding:.2f} % of the {encoding:.1f} s of the runs")
    if reading > MAX_READING * encoding:
        sys.exit(f"error: more than {100 * MAX_READING} %")


def check_outputs(rows):
    folder = WORK / "million"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    in_child(write_inputs, folder, rows)
    runs = Runs(folder)
    encoding = run_all(runs, folder, rows)
    for suffix in ("parquet", "npy", "arrow"):
        report = subprocess.run([PROGRAMS / "encode", "verify", "--json", folder / f"m.{suffix}"], capture_output=True, text=True)
        assert report.returncode == 0 and json.loads(report.stdout)["matrices"][0]["rows"] == rows, report.stdout
    check_pyarrow(folder, rows)
    check_duckdb(folder, rows)
    check_others(folder, rows)
    check_reading(folder, rows, encoding)


def shell(command):
    """Runs a command of bash with the functions of lib.sh, and returns its output."""
    return subprocess.run(["bash", "-euo", "pipefail", "-c", f". {ROOT}/scripts/lib.sh; {command}"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def build(*targets):
    subprocess.run(["ninja", "-C", ROOT / "build", "-j", shell("job_count"), *targets], check=True)


def run_in(python, check, rows, **environment):
    subprocess.run([python, __file__, check, rows], check=True, env={**os.environ, **environment})


def inputs(rows):
    site = WORK / "site"
    if not (site / "pyarrow").is_dir():
        # The whole wheel: scripts/setup.sh needs only a part of it.
        subprocess.run(["unzip", "-q", "-o", shell("fetch_wheels arrow"), "-d", site], check=True)
    build("encode", "encode_arrow_plugin", "text_benchmark")
    run_in(ROOT / ".deps/venv/bin/python", "--check-inputs", rows, PYTHONPATH=str(site))


def million(rows):
    venv = WORK / "venv"
    if not (venv / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/pip", "install", "--quiet", *READERS], check=True)
        (venv / "ready").touch()
    subprocess.run([ROOT / "scripts/models.sh"], check=True)
    build("encode", "encode-worker", "encode_arrow_plugin", "text_benchmark")
    run_in(venv / "bin/python", "--check-outputs", rows)


def main():
    words = sys.argv[1:]
    if "-h" in words or "--help" in words:
        print(__doc__)
        return
    if words[:1] in (["--check-inputs"], ["--check-outputs"]):  # in the interpreter that has the packages
        check = check_inputs if words[0] == "--check-inputs" else check_outputs
        check(int(words[1]))
        return
    WORK.mkdir(parents=True, exist_ok=True)
    if words[:1] == ["million"]:
        million(words[1] if len(words) > 1 else "1000000")
    else:
        inputs(words[0] if words else "1000000")


if __name__ == "__main__":
    main()
