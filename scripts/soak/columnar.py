#!/usr/bin/env python3
"""Does the work of columnar.sh: columnar.py FOLDER_OF_PROGRAMS WORK_FOLDER ROWS"""
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys

import pyarrow
import pyarrow.parquet

MAX_BYTES = 400 << 20
GROUP_ROWS = 100_000
TOKENIZER = pathlib.Path(__file__).resolve().parents[2] / "tests/data/tokenizer/wordpiece/tokenizer.json"
CHECKED_ROWS = 20_000


def text_of(row):
    return f"def test_{row}(self): self.assertEqual(f({row % 97}), '{row * 7919 % 1000003}')\n" * (1 + row % 8)


def write_files(folder, rows):
    """Returns {name: path} of the same rows in each format.

    A child process writes them, because the peak memory of a program that is started later begins with that of its parent.
    """
    paths = {name: folder / f"{name}.{suffix}" for name, suffix in
             [("jsonl", "jsonl"), ("parquet_zstd", "parquet"), ("parquet_one_group", "parquet"), ("ipc_file", "arrow"),
              ("ipc_stream_lz4", "arrow")]}
    writer = multiprocessing.get_context("spawn").Process(target=write, args=(paths, rows))
    writer.start()
    writer.join()
    if writer.exitcode:
        sys.exit("error: the files cannot be written")
    return paths


def write(paths, rows):
    texts = [text_of(row) for row in range(rows)]
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


def measure(programs, name, path):
    output, peak = run([programs / "text_benchmark", "--benchmark_filter=file", path, "text"])
    rates = dict(re.findall(r"^file/(\w+) .*items_per_second=(\S+)", output, re.MULTILINE))
    print(f"{name:18} {path.stat().st_size / 1e6:7.1f} MB   scan {rates['scan']:>9} rows/s   read again {rates['read']:>9} rows/s   "
          f"peak {peak / 1e6:5.0f} MB", flush=True)
    if peak > MAX_BYTES:
        sys.exit(f"error: more than {MAX_BYTES / 1e6:.0f} MB")


def compare(programs, folder):
    """The token ids of all rows must be equal for all formats."""
    paths = write_files(folder, CHECKED_ROWS)
    ids = set()
    for path in paths.values():
        run([programs / "encode", "tokenize", "--tokenizer", TOKENIZER, "--input", path, "--field", "text",
             "--output", folder / "ids.out", "--overwrite"])
        ids.add((folder / "ids.out").read_bytes())
    if len(ids) != 1:
        sys.exit("error: the rows of the formats differ")
    print(f"{CHECKED_ROWS} rows of each format are equal")


def main():
    programs, folder, rows = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    small = folder / "small"
    small.mkdir(exist_ok=True)
    compare(programs, small)
    for name, path in write_files(folder, rows).items():
        measure(programs, name, path)


if __name__ == "__main__":
    main()
