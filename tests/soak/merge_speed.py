#!/usr/bin/env python3
"""One matrix of many parts beside `cp` and `sync` of a file of the same size.

usage: merge_speed.py [--rows N] [--shards N] [--pairs N] [--folder DIR] [--least RATIO]

The default is a matrix of 2 GB in 20 parts, and five pairs in turns, once with the parts in the page cache and once without them. That
takes about three minutes and 7 GB of disk in --folder (default: the folder for temporary files). The median of `cp` must be at least
--least times the median of the merge (default: 0.8), and the merge may have 100 MB. The worker is the tests' worker without a model
(build/bin/fake_worker).
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from shard_scale import check, run, write_config

MOST_BYTES = 100e6
SETTLE_SECONDS = 3
BLOCK_BYTES = 4 << 20


def set_cached(paths, cached):
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            if not cached:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while cached and file.read(BLOCK_BYTES):
                pass


def join(paths, whole):
    with open(whole, "wb") as file:
        for path in paths:
            with open(path, "rb") as part:
                shutil.copyfileobj(part, file, BLOCK_BYTES)
        file.flush()
        os.fsync(file.fileno())


def settle(*paths):
    for path in paths:
        path.unlink(missing_ok=True)
    os.sync()
    time.sleep(SETTLE_SECONDS)


class Pairs:
    def __init__(self, folder, parts):
        self.folder, self.parts = folder, parts
        self.whole, self.copy = folder / "whole", folder / "copy"
        self.memory = 0

    def cp(self, cached):
        settle(self.copy)
        set_cached([self.whole], cached)
        started = time.monotonic()
        subprocess.run(["cp", self.whole, self.copy], check=True)
        subprocess.run(["sync", self.copy], check=True)
        seconds = time.monotonic() - started
        self.copy.unlink()
        return seconds

    def merge(self, cached):
        settle(*self.folder.glob("speed/speed_embeddings*"), *self.folder.glob("speed/embeddings_embeddings*"))
        set_cached(self.parts, cached)
        seconds, memory = run(self.folder, "merge", "--config", "speed.yaml", "--parts", "one", "--quiet")
        self.memory = max(self.memory, memory)
        return seconds


def compare(pairs, cached, args, results):
    copies, merges = [], []
    for number in range(args.pairs):
        for work, times in ((pairs.cp, copies), (pairs.merge, merges))[::1 if number % 2 else -1]:
            times.append(work(cached))
    ratio = statistics.median(copies) / statistics.median(merges)
    each = sorted(copy / merge for copy, merge in zip(copies, merges))
    check(results, "parts in the page cache" if cached else "parts not in the page cache",
          ratio >= args.least and pairs.memory <= MOST_BYTES,
          f"cp {statistics.median(copies):.2f} s, merge {statistics.median(merges):.2f} s, {ratio:.2f} ({each[0]:.2f} to {each[-1]:.2f}); "
          f"at most {pairs.memory / 1e6:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--shards", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--folder")
    parser.add_argument("--least", type=float, default=0.8)
    args = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="merge_speed_", dir=args.folder) as folder:
        folder = pathlib.Path(folder)
        write_config(folder, "speed", args.rows, 100_000)
        run(folder, "shards", "plan", "--config", "speed.yaml", "--shards", args.shards)
        for shard in range(args.shards):
            run(folder, "run", "--config", "speed.yaml", "--shard", f"{shard}/{args.shards}")
        pairs = Pairs(folder, sorted(folder.glob("speed/shards/*/attempt-*/*_embeddings.npy")))
        join(pairs.parts, pairs.whole)
        for cached in (True, False):
            compare(pairs, cached, args, results)
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
