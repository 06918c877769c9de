#!/usr/bin/env python3
"""Prints the figures of `encode bench` as Markdown: how long each stage of a run takes, and how fast the run is compared
with the model's matrix products alone on the same threads.

    stages.py --encode build/bin/encode --model DIR --input rows.jsonl --threads N [--dtype float32,bfloat16] [--runs 3]
              [--seconds 4] [--min-share float32=0.8] [--device cuda]

A share is the speed of the run divided by the speed of the matrix products alone. The whole command includes start, loading
and the sync of the final matrix. Encoding alone begins when the model is loaded. The share per processor second leaves out
waiting and hardly depends on other work of the machine. The exit code is 1 if the share of the whole command is below
--min-share.

If the project has kernels for the processor, the matrix products use them. For comparison, the speed of LibTorch's products
(oneDNN with packed weights, fused bias and activation) on a few of the rows is then timed before and after the runs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def bench(args, rows, runs, environment):
    """Returns the report of `encode bench` on the first rows of the input."""
    with tempfile.TemporaryDirectory() as folder:
        command = [args.encode, "bench", "--model", args.model, "--input", args.input, "--field", "text", "--device",
                   args.device, "--cache-dir", Path(folder) / "cache", "--threads", args.threads, "--dtype", args.dtype,
                   "--runs", runs, "--product-seconds", args.seconds, "--rows", rows, "--json"]
        run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, env=os.environ | environment)
    if run.returncode:
        sys.exit(run.returncode)
    return json.loads(run.stdout)


def library_products(args):
    """Returns {type: tokens/s of LibTorch's matrix products alone}, measured on a few rows."""
    report = bench(args, rows=200, runs=1, environment={"ENCODE_CPU_CAPABILITY": "baseline"})
    return {result["dtype"]: result["products_tokens_per_second"]["median"] for result in report["results"]}


def print_library(results, before, after):
    """Prints the speed of the whole command as a share of the speed of LibTorch's matrix products alone."""
    print("\n| | LibTorch's products alone, tokens/s | whole command, share of these |\n|---|---|---|")
    for result in results:
        dtype = result["dtype"]
        library = (before[dtype] + after[dtype]) / 2
        print(f"| {dtype} | {library:,.0f} ({before[dtype]:,.0f}, {after[dtype]:,.0f}) | "
              f"**{100 * result['tokens_per_second']['median'] / library:.0f} %** |")


def count(figure):
    return f"{figure['median']:,.0f}" if figure else "-"


def percent(figure):
    if not figure:
        return "-"
    return f"**{100 * figure['median']:.0f} %** ({100 * figure['min']:.0f} to {100 * figure['max']:.0f})"


def print_shares(results):
    print("| | products alone, tokens/s | GFLOP/s | whole command, tokens/s | share of the products | share, encoding alone | "
          "share per CPU second | share of a large product | padding | peak memory |\n|---|---|---|---|---|---|---|---|---|---|")
    for result in results:
        shares = [percent(result[key]) for key in ("share", "encoding_share", "cpu_share", "square_share")]
        print(f"| {result['dtype']} | {count(result['products_tokens_per_second'])} | "
              f"{count(result['products_gflops'])} | {count(result['tokens_per_second'])} | {' | '.join(shares)} | "
              f"{100 * result['padding']['median']:.1f} % | {result['peak_host_bytes']['max'] / 1e9:.2f} GB |")


STAGES = ("start", "read", "tokenize", "pack", "rows awaited", "encode", "commit awaited", "commit", "finish")


def print_stages(results):
    print("\nMedian seconds. `encode` is the time of the compute threads. Other threads read, tokenize, pack and commit at the "
          "same time. `start` is everything before, and `finish` is everything after.\n")
    print(f"| | whole command | {' | '.join(STAGES)} |\n|---|---|{'---|' * len(STAGES)}")
    for result in results:
        cells = [f"{result['stages'][name]['median']:.2f}" for name in STAGES]
        print(f"| {result['dtype']} | {result['seconds']['median']:.2f} | {' | '.join(cells)} |")


def missed(limits, results):
    """Returns a text for each result that misses --min-share."""
    shares = {result["dtype"]: result["share"] for result in results}
    failures = []
    for dtype, wanted in (limit.split("=") for limit in limits):
        share = shares.get(dtype)
        if share is None or share["median"] < float(wanted):
            found = f"{share['median']:.2f}" if share else "no share"
            failures.append(f"{dtype}: {found} of the products alone, below --min-share {wanted}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32,bfloat16")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="seconds for the products alone, before and after each run")
    parser.add_argument("--min-share", action="append", default=[], metavar="TYPE=SHARE")
    args = parser.parse_args()
    has_own = (args.device == "cpu" and "int8" not in args.dtype.split(",")  # LibTorch has no int8 products
               and "avx2" in Path("/proc/cpuinfo").read_text())
    before = library_products(args) if has_own else None
    report = bench(args, rows=10**9, runs=args.runs, environment={})
    first = report["results"][0]
    print(f"{report['model']} on {report['device']}: {report['rows']:,} rows, {first['tokens']:,} tokens, "
          f"{first['threads']} threads, {args.runs} runs\n")
    print_shares(report["results"])
    if has_own:
        print_library(report["results"], before, library_products(args))
    print_stages(report["results"])
    if failures := missed(args.min_share, report["results"]):
        sys.exit("FAIL: " + "; ".join(failures))


if __name__ == "__main__":
    main()
