#!/usr/bin/env python3
"""Measures what chunks cost against standard mode and, on a GPU, whether larger batches make a run slower.

    chunk_overhead.py --encode build/bin/encode --model DIR --threads N [--runs 5] [--dtype T] [--device D] rows.jsonl ..

For each file it runs standard mode, chunks of 1,000 and chunks of 100 in turns. On a GPU it then runs batch_tokens of
1,024 to 16,384 in turns; on a CPU these values do not change a batch. It prints Markdown tables of medians. On a CPU it
times the whole command. On a GPU it times encoding only, because the start takes seconds; one worker encodes all chunks, instead
of a new one after 50 chunks. The overhead of a run is its time minus the time of the standard run of the same turn, and the
median over the turns counts.

A chunk costs what its commit costs: its file and the log are written and synced, which takes the disk the same time on every
device. A share of the run's time cannot be the limit, because a faster device encodes a chunk in less time. The limit is therefore
a time for each chunk, which the script measures on the same disk: it writes and syncs files of the size of a chunk as a commit
does. Commits overlap with encoding, so a run that waits for each of them, and does nothing meanwhile, is the worst. COMMITS is
above 1, because a chunk also has an event and its place in the log, and a disk is not always equally fast. SHARE is for the noise
of two runs.

The exit code is 1 in these cases:
- a mode with chunks takes longer than this limit;
- the speed falls by more than 5 % from one batch_tokens to the next;
- two matrices of a file differ.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

import ours

MODES = {"standard": ("--standard",), "chunks of 1,000": ("--chunk-size", "1000"), "chunks of 100": ("--chunk-size", "100")}
CHUNK_ROWS = {"chunks of 1,000": 1000, "chunks of 100": 100}
COMMITS = 1.5
SHARE = 0.01
COMMIT_PROBES = 30
BATCH_TOKENS = (1024, 2048, 4096, 8192, 16384)
LARGEST_FALL = 0.05
ONE_WORKER = "hardware:\n  worker_chunks: 0\n"


def measure(args, path, contestants):
    """Returns the runs of each contestant, one for each turn. Exits if two matrices have different bytes."""
    runs = {name: [] for name in contestants}
    output = None
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(ONE_WORKER)
        config.flush()
        for number in range(args.runs):
            # Every second turn runs backwards, so that a slow-down during a turn does not always hit the same contestant.
            for name in list(contestants)[::1 if number % 2 == 0 else -1]:
                run = ours.encode(args.encode, args.model, path, "--config", config.name, "--threads", args.threads, "--dtype",
                                  args.dtype, "--device", args.device, *contestants[name])
                output = output or run.output
                if run.output != output:
                    sys.exit(f"FAIL: {path}, {name}: the matrix differs from the matrix of {next(iter(contestants))}")
                runs[name].append(run)
            print(f"{path.stem}: turn {number + 1} of {args.runs}", file=sys.stderr, flush=True)
    return runs


def timed(args, run):
    return run.seconds if args.device == "cpu" else run.encoding_seconds()


def over(runs, name, base, seconds):
    """Returns the median share by which `name` took longer than `base` in the same turn."""
    return statistics.median(seconds(a) / seconds(b) - 1 for a, b in zip(runs[name], runs[base]))


def write_synced(path, content, mode):
    with open(path, mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


def commit_seconds(chunk_bytes):
    """Returns the median time of what a commit does (docs/store-format.md, "Commit a chunk"), in the folder of the runs' caches."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        content = os.urandom(chunk_bytes)
        for number in range(COMMIT_PROBES):
            started = time.monotonic()
            write_synced(f"{folder}/temporary", content, "wb")
            os.rename(f"{folder}/temporary", f"{folder}/chunk_{number}")
            sync_folder(folder)
            write_synced(f"{folder}/log", b"a line of chunks.log" * 20, "ab")
            seconds.append(time.monotonic() - started)
    return statistics.median(seconds)


def most_overhead(run, name, seconds):
    """Returns the share by which the mode `name` may take longer than `run`, a standard run that took `seconds`."""
    if name not in CHUNK_ROWS:
        return float("inf")
    chunks = -(-run.rows // CHUNK_ROWS[name])
    return SHARE + COMMITS * chunks * commit_seconds(len(run.output) // chunks) / seconds


def modes(args, path):
    runs = measure(args, path, MODES)
    standard_seconds = statistics.median(timed(args, run) for run in runs["standard"])
    failures = []
    for name, of_name in runs.items():
        overhead, cpu = (over(runs, name, "standard", seconds)
                         for seconds in (lambda run: timed(args, run), lambda run: run.cpu_seconds))
        spread = ", ".join(f"{timed(args, run):.2f}" for run in of_name)
        print(f"| {path.stem} | {name} | {spread} | {statistics.median(timed(args, run) for run in of_name):.2f} | "
              f"{100 * overhead:+.1f} % | {100 * cpu:+.1f} % |", flush=True)
        most = most_overhead(runs["standard"][0], name, standard_seconds)
        if overhead > most:
            failures.append(f"{path.stem}: {name} cost {100 * overhead:.1f} %, and the disk explains {100 * most:.1f} %")
    return failures


def batches(args, path):
    runs = measure(args, path, {tokens: ("--batch-tokens", str(tokens)) for tokens in BATCH_TOKENS})
    failures = []
    for i, tokens in enumerate(BATCH_TOKENS):
        change = over(runs, tokens, BATCH_TOKENS[max(i - 1, 0)], lambda run: 1 / timed(args, run))
        rate = statistics.median(run.tokens / timed(args, run) for run in runs[tokens])
        print(f"| {path.stem} | {tokens:,} | {rate:,.0f} | {100 * change:+.1f} % |", flush=True)
        if change < -LARGEST_FALL:
            failures.append(f"{path.stem}: batch_tokens {tokens} lowers the rate by {-100 * change:.1f} %")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("rows", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    failures = []
    print("| rows | mode | seconds | median | against standard | CPU time |\n|---|---|---|---|---|---|")
    for path in args.rows:
        failures += modes(args, path)
    if args.device != "cpu":
        print("\n| rows | batch_tokens | tokens/s | against the row above |\n|---|---|---|---|")
        for path in args.rows:
            failures += batches(args, path)
    if failures:
        sys.exit("FAIL: " + "; ".join(failures))


if __name__ == "__main__":
    main()
