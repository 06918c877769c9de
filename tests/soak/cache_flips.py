#!/usr/bin/python3
"""Flips bits of embedding caches, and checks that damage costs nothing but the cache.

usage: tests/soak/cache_flips.py [--step N] [--runs N] [PART...]      the default is all parts: process programs runs

process    every STEP-th bit (default: 1) of a small store, in process: opening it, every walk, every lookup, adding rows, pruning
programs   every STEP-th bit of the meta pages, of the headers and of the branches: `encode cache stats`, `verify` and `prune`
runs       RUNS (default: 300) runs with one random bit flipped in a store that has all of their rows

A flip fails if a step takes over 20 seconds or over 2 GiB of memory, gives a wrong row, or ends with another code than the
documented ones (commands: 0 or 65; runs: 0, with the bytes of a run without the cache).
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = ROOT / "build/bin/encode"
FLIPS = ROOT / "build/bin/cache_flips"
MODEL = ROOT / ".deps/models/all-MiniLM-L6-v2"
SECONDS = 20
RUN_SECONDS = 120


def run(command, seconds):
    """Returns the exit code, or "hang"."""
    try:
        return subprocess.run(command, capture_output=True, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        return "hang"


class Store:
    """A folder of a cache whose file can be written with one bit flipped."""

    def __init__(self, folder):
        self.data = os.path.join(folder, "data.mdb")
        with open(self.data, "rb") as file:
            self.content = file.read()

    def flip(self, bit):
        content = bytearray(self.content)
        content[bit // 8] ^= 1 << bit % 8
        with open(self.data, "wb") as file:
            file.write(content)


def process(options):
    command = [FLIPS, os.path.join(options.work, "store"), f"0:{options.step}"]
    return int(subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode != 0)


def programs(options):
    folder = os.path.join(options.work, "store")
    bits = subprocess.run([FLIPS, folder, "list"], capture_output=True, check=True, text=True).stdout.split()
    store = Store(folder)
    codes = collections.Counter()
    failures = 0
    for bit in map(int, bits[:: options.step]):
        for verb in (["stats"], ["verify"], ["prune", "--to", "100 kB"]):
            store.flip(bit)
            code = run([ENCODE, "cache", *verb, "--dir", folder], SECONDS)
            codes[f"{verb[0]} {code}"] += 1
            if code not in (0, 65):
                failures += 1
                print(f"FAILED bit {bit}: {verb[0]} ended with {code}")
    print(f"{len(bits[:: options.step])} bits: {dict(sorted(codes.items()))}, {failures} failed")
    return failures


def write_texts(path):
    chance = random.Random(1)
    words = "alpha beta gamma delta house tree river stone cloud light".split()
    with open(path, "w", encoding="utf-8") as file:
        for row in range(200):
            text = " ".join(chance.choice(words) for _ in range(chance.randint(1, 12)))
            file.write(json.dumps({"text": f"{text} {row}"}) + "\n")


def runs(options):
    texts = os.path.join(options.work, "texts.jsonl")
    cache = os.path.join(options.work, "vectors")
    output = os.path.join(options.work, "out", "vectors.npy")
    write_texts(texts)
    command = [ENCODE, "run", "--model", MODEL, "--input", texts, "--field", "text", "--output", output,
               "--device", "cpu", "--quiet"]

    def result(extra):
        shutil.rmtree(os.path.dirname(output), ignore_errors=True)
        code = run(command + extra, RUN_SECONDS)
        if code != 0:
            return code, ""
        with open(output, "rb") as file:
            return code, hashlib.sha256(file.read()).hexdigest()

    expected = result([])
    if expected[0] != 0 or result(["--embedding-cache", cache]) != expected:
        sys.exit("a run without a flip fails")
    store = Store(cache)
    chance = random.Random(2)
    failures = 0
    for _ in range(options.runs):
        bit = chance.randrange(len(store.content) * 8)
        store.flip(bit)
        code, digest = result(["--embedding-cache", cache])
        if (code, digest) != expected:
            failures += 1
            print(f"FAILED bit {bit}: the run ended with {code}" + (", with other bytes" if code == 0 else ""))
    print(f"{options.runs} runs, {failures} failed")
    return failures


def main():
    parts = {"process": process, "programs": programs, "runs": runs}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(parts):
        parser.error(f"no part '{unknown.pop()}': {', '.join(parts)}")
    failures = 0
    for part in options.parts or parts:
        print(f"== {part}", flush=True)
        with tempfile.TemporaryDirectory(dir=os.environ.get("ENCODE_SOAK_DIR", "/dev/shm")) as options.work:
            failures += parts[part](options)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
