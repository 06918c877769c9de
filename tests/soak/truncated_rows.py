#!/usr/bin/env python3
"""An input of which max_length cuts every row: what the lists of truncated rows take on disk and in memory.

usage: truncated_rows.py [--rows N] [--shards N]

The defaults are 4 million rows in 4 shards. Each step is compared with the same step of rows that are not cut. The worker is the tests'
worker without a model (build/bin/fake_worker).
"""
import argparse
import os
import pathlib
import sys
import tempfile

from shard_scale import check, largest_job, run, write_config

MOST_MORE_BYTES = 10e6  # of memory, whatever the size of the lists is


def steps(name, shards):
    config = ("--config", f"{name}.yaml")
    yield "run", ("run", *config, "--cache-dir", f"{name}_whole", "--output", f"{name}.npy")
    yield "verify", ("verify", f"{name}.npy")
    yield "plan", ("shards", "plan", *config, "--shards", shards)
    for shard in range(shards):
        yield f"shard {shard}", ("run", *config, "--shard", f"{shard}/{shards}")
    yield "merge", ("merge", *config)
    yield "merge to one", ("merge", *config, "--parts", "one")
    yield "verify the merged", ("verify", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--shards", type=int, default=4)
    args = parser.parse_args()
    results, taken = [], {}
    with tempfile.TemporaryDirectory(prefix="truncated_rows_") as folder:
        folder = pathlib.Path(folder)
        for name in ("whole", "cut"):
            os.environ.pop("FAKE_WORKER_CUT", None)
            if name == "cut":
                os.environ["FAKE_WORKER_CUT"] = "all"
            write_config(folder, name, args.rows, 10_000)
            for step, words in steps(name, args.shards):
                found, watch = largest_job(folder)
                taken[name, step] = (*run(folder, *words, watch=watch), found["worker"])
        for step, _ in steps("cut", args.shards):
            seconds, memory, worker = taken["cut", step]
            others = taken["whole", step]
            good = memory <= others[1] + MOST_MORE_BYTES and worker <= others[2] + MOST_MORE_BYTES
            check(results, step, good, f"{seconds:.1f} s (not cut {others[0]:.1f} s), {memory / 1e6:.0f} MB ({others[1] / 1e6:.0f} MB), "
                  f"worker {worker / 1e6:.0f} MB ({others[2] / 1e6:.0f} MB)")
        size = (folder / "cut.truncated.jsonl").stat().st_size
        check(results, "size of the list", size <= 60 * args.rows, f"{size / args.rows:.1f} bytes for each row")
        parts = sum(path.stat().st_size for path in folder.glob("cut/*-of-*.truncated.jsonl"))
        check(results, "lists of the parts", parts == size, f"{parts:,} bytes, as one run")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
