#!/usr/bin/env python3
"""Compares encode_embeddings.run() on a list of texts with the command `encode run` on the same texts in a JSONL file.

    python_calls.py [--encode build/bin/encode] [--model DIR] [--rows 100000] [--words 2] [--pairs 5]

The runs are in pairs, in turns in either order, and each has a cache directory of its own. Of a call the whole Python process is
timed, with the imports. Prints the medians of the ratios of a pair, of the time and of the processor time; the second one depends
less on what else the machine does. ENCODE_WORKER may name fake_worker, which computes nothing: then the processor time that a call
adds is all that matters.

It runs in .deps/python (scripts/setup.sh).
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".deps/python/bin/python"
CALL = """
import json, sys
import encode_embeddings
texts = [json.loads(line)["text"] for line in open(sys.argv[1])]
encode_embeddings.run(texts, model=sys.argv[2], device="cpu", output=sys.argv[3], progress=False)
"""


def timed(command, environment):
    """Returns the seconds and the processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one(kind, args, folder, number):
    work = folder / f"{kind}-{number}"
    work.mkdir()
    texts, output = folder / "texts.jsonl", work / "out.npy"
    environment = {**os.environ, "ENCODE_PROGRAM": str(args.encode), "PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(work)}
    if kind == "call":
        return timed([PYTHON, "-B", "-c", CALL, texts, args.model, output], environment)
    return timed([args.encode, "run", "--model", args.model, "--input", texts, "--field", "text", "--device", "cpu", "--cache-dir",
                  work / "cache", "--output", output, "--no-progress"], environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", type=pathlib.Path, default=ROOT / "build/bin/encode")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / ".deps/models/all-MiniLM-L6-v2")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    args = parser.parse_args()
    ratios, processor, added = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with open(folder / "texts.jsonl", "w") as file:
            for row in range(args.rows):
                file.write(json.dumps({"text": f"{row} " + "word " * (args.words - 1)}) + "\n")
        for number in range(args.pairs):
            order = ("command", "call") if number % 2 == 0 else ("call", "command")
            found = {kind: one(kind, args, folder, number) for kind in order}
            ratios.append(found["call"][0] / found["command"][0])
            processor.append(found["call"][1] / found["command"][1])
            added.append(found["call"][1] - found["command"][1])
            print(f"command {found['command'][0]:.2f} s, call {found['call'][0]:.2f} s, ratio {ratios[-1]:.3f}; processor time "
                  f"{found['command'][1]:.2f} s, {found['call'][1]:.2f} s, ratio {processor[-1]:.3f}", flush=True)
    for name, values in (("time", ratios), ("processor time", processor)):
        print(f"{args.rows:,} texts, {name}: median ratio {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})")
    print(f"processor time that a call adds: {statistics.median(added):.2f} s")


if __name__ == "__main__":
    sys.exit(main())
