#!/usr/bin/env python3
"""Makes tests/data/arrow: small files of columns as users have them, written by pyarrow and Hugging Face datasets.

    make_arrow.py [--output tests/data/arrow]

rows.json       the texts of every file, and the token ids of ids.parquet
texts.parquet   the column "text", in two row groups (snappy), beside a column of numbers
ids.parquet     the column "input_ids", a list of int64
texts.feather   the column "text" by pyarrow.feather (an Arrow IPC file with LZ4)
saved/          the folder of datasets.save_to_disk, in two files (Arrow IPC streams)

It needs pyarrow 26.0.1 and datasets 5.2.0.
"""
import argparse
import json
import pathlib
import shutil

import datasets
import pyarrow
import pyarrow.feather
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = 40


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "tests/data/arrow")
    folder = parser.parse_args().output
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = [f"Row {row}: " + "the quick brown fox; größer, 日本語 " * (row % 3) for row in range(ROWS)]
    ids = [[row + i for i in range(row % 5)] for row in range(ROWS)]
    table = pyarrow.table({"number": list(range(ROWS)), "text": texts})
    (folder / "rows.json").write_text(json.dumps({"texts": texts, "ids": ids}, ensure_ascii=False) + "\n")
    pyarrow.parquet.write_table(table, folder / "texts.parquet", row_group_size=25)
    pyarrow.parquet.write_table(pyarrow.table({"input_ids": ids}), folder / "ids.parquet")
    pyarrow.feather.write_feather(table, folder / "texts.feather")
    saved = folder / "saved"
    datasets.Dataset.from_dict({"text": texts}).save_to_disk(saved, num_shards=2)


if __name__ == "__main__":
    main()
