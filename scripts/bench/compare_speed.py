#!/usr/bin/env python3
"""Times encode and sentence-transformers on the same rows, turn by turn, and prints a Markdown table.

encode's time is that of the whole command, from start to synced file; the peer's is model.encode() alone. That favours
the peer by its start-up, and needs nothing from inside either program.
"""
import argparse
import json
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def machine(threads):
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
               platform.machine())
    return f"{cpu}, {threads} threads"


def run_peer(args):
    command = [sys.executable, str(HERE / "peer_sentence_transformers.py"), "--model", args.model, "--input", args.input,
               "--device", args.device, "--dtype", args.dtype, "--threads", str(args.threads),
               "--batch-size", str(args.peer_batch_size)]
    if args.max_length:
        command += ["--max-length", str(args.max_length)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])


def run_encode(args, folder):
    command = [args.encode, "run", "--model", args.model, "--input", args.input, "--field", "text",
               "--device", args.device, "--dtype", args.dtype, "--threads", str(args.threads),
               "--cache-dir", f"{folder}/cache", "--output", f"{folder}/ours.npy"]
    if args.max_length:
        command += ["--max-length", str(args.max_length)]
    started = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - started
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stdout[-2000:]}{result.stderr[-2000:]}\nexit code {result.returncode}")
    return seconds


def row(name, seconds, rows, tokens):
    median = statistics.median(seconds)
    spread = ", ".join(f"{value:.2f}" for value in seconds)
    return f"| {name} | {spread} | {median:.2f} | {rows / median:,.0f} | {tokens / median:,.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", required=True, help="the program")
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--max-length", type=int, default=0)
    parser.add_argument("--peer-batch-size", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--min-ratio", type=float, default=0.0, help="fail below this ratio of tokens/s")
    args = parser.parse_args()
    ours, peers = [], []
    for turn in range(args.runs):
        with tempfile.TemporaryDirectory() as folder:
            ours.append(run_encode(args, folder))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if turn == 0 else peak
        peers.append(run_peer(args))
        print(f"run {turn + 1}: encode {ours[-1]:.2f} s, sentence-transformers {peers[-1]['seconds']:.2f} s",
              file=sys.stderr, flush=True)
    rows, tokens = peers[0]["rows"], peers[0]["tokens"]
    peer_seconds = [run["seconds"] for run in peers]
    ratio = statistics.median(peer_seconds) / statistics.median(ours)
    print(f"{machine(args.threads)}; {args.device}, {args.dtype}; {rows:,} rows, {tokens:,} tokens; "
          f"{pathlib.Path(args.model).name}\n")
    print("| | seconds | median | rows/s | tokens/s |\n|---|---|---|---|---|")
    print(row("encode (whole command)", ours, rows, tokens))
    print(row(f"sentence-transformers (encode() alone, batch {args.peer_batch_size})", peer_seconds, rows, tokens))
    print(f"\nratio of medians {ratio:.2f}; largest process {peak / 1e6:.2f} GB against "
          f"{peers[0]['peak_rss_bytes'] / 1e9:.2f} GB resident")
    if ratio < args.min_ratio:
        sys.exit(f"FAIL: ratio {ratio:.2f} is below {args.min_ratio:g}")


if __name__ == "__main__":
    main()
