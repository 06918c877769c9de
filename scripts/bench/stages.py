#!/usr/bin/env python3
"""Says where a run's time goes, and how far it is from the model's matrix products alone on the same threads.

    stages.py --encode build/bin/encode --products build/bin/products_alone --model DIR --input rows.jsonl --threads N
              [--dtype float32,bfloat16] [--runs 3] [--seconds 4] [--min-share float32=0.8]

Each turn runs the products before and after `encode run`, and takes the mean of the two. The share of the whole command
holds start, loading and the final's sync against the run; that of encoding begins when the model is loaded. The share
per processor second leaves out waiting, and hardly depends on what else the machine does. The exit code is 1 where
--min-share of the whole command does not hold.
"""
import argparse
import json
import statistics
import subprocess
import sys

import ours


def products(args, dtype):
    command = [args.products, "--model", args.model, "--dtype", dtype, "--threads", str(args.threads), "--seconds",
               str(args.seconds)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def mean(before, after):
    return {name: (before[name] + after[name]) / 2 for name in
            ("tokens_per_second", "tokens_per_cpu_second", "gflops")}


def measure(args, dtypes):
    """[(products, run), ...] by type, a pair a turn."""
    turns = {dtype: [] for dtype in dtypes}
    for number in range(args.runs):
        for dtype in dtypes:
            before = products(args, dtype)
            run = ours.encode(args.encode, args.model, args.input, "--dtype", dtype, "--threads", args.threads)
            turns[dtype].append((mean(before, products(args, dtype)), run))
            print(f"turn {number + 1}: {dtype} {run.seconds:.2f} s", file=sys.stderr, flush=True)
    return turns


def shares(turns):
    """Of the whole command, of encoding, per processor second; each with its smallest and largest."""
    kinds = ([run.tokens / run.seconds / best["tokens_per_second"] for best, run in turns],
             [run.tokens / run.encoding_seconds() / best["tokens_per_second"] for best, run in turns],
             [run.tokens / run.cpu_seconds / best["tokens_per_cpu_second"] for best, run in turns])
    return [(statistics.median(kind), min(kind), max(kind)) for kind in kinds]


def percent(share):
    middle, low, high = share
    return f"**{100 * middle:.0f} %** ({100 * low:.0f} to {100 * high:.0f})"


def print_shares(turns):
    print("| | products alone, tokens/s | GFLOP/s | whole command, tokens/s | of the products | encoding alone | "
          "per CPU second | peak memory |\n|---|---|---|---|---|---|---|---|")
    for dtype, pairs in turns.items():
        best = statistics.median(best["tokens_per_second"] for best, _ in pairs)
        gflops = statistics.median(best["gflops"] for best, _ in pairs)
        rate = statistics.median(run.tokens / run.seconds for _, run in pairs)
        cells = [percent(share) for share in shares(pairs)]
        print(f"| {dtype} | {best:,.0f} | {gflops:,.0f} | {rate:,.0f} | {' | '.join(cells)} | "
              f"{max(run.peak_bytes for _, run in pairs) / 1e9:.2f} GB |")


def print_stages(turns):
    names = list(next(iter(turns.values()))[0][1].stages)
    print("\nMedian seconds. `encode` is the compute threads'; reading to packing and the commit go on beside it; "
          "`start` is all that is before and after.\n")
    print(f"| | whole command | start | {' | '.join(names)} |\n|---|---|---|{'---|' * len(names)}")
    for dtype, pairs in turns.items():
        runs = [run for _, run in pairs]
        start = statistics.median(run.seconds - run.encoding_seconds() for run in runs)
        cells = [f"{statistics.median(run.stages[name] for run in runs):.2f}" for name in names]
        print(f"| {dtype} | {statistics.median(run.seconds for run in runs):.2f} | {start:.2f} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", required=True)
    parser.add_argument("--products", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--dtype", default="float32,bfloat16")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of the products alone, twice a turn")
    parser.add_argument("--min-share", action="append", default=[], metavar="TYPE=SHARE")
    args = parser.parse_args()
    turns = measure(args, args.dtype.split(","))
    first = next(iter(turns.values()))[0][1]
    print(f"{first.rows:,} rows, {first.tokens:,} tokens, {args.threads} threads, {args.runs} turns\n")
    print_shares(turns)
    print_stages(turns)
    for dtype, wanted in (limit.split("=") for limit in args.min_share):
        if (share := shares(turns[dtype])[0][0]) < float(wanted):
            sys.exit(f"FAIL: {dtype}: {share:.2f} of the products alone, wanted are {wanted}")


if __name__ == "__main__":
    main()
