"""Flips bits of embedding caches, and runs the programs with them. cache_flips.sh describes the parts."""

import argparse
import collections
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys

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


def programs(options):
    folder = os.path.join(options.work, "store")
    bits = subprocess.run([options.flips, folder, "list"], capture_output=True, check=True, text=True).stdout.split()
    store = Store(folder)
    codes = collections.Counter()
    failures = 0
    for bit in map(int, bits[:: options.step]):
        for verb in (["stats"], ["verify"], ["prune", "--to", "100 kB"]):
            store.flip(bit)
            code = run([options.encode, "cache", *verb, "--dir", folder], SECONDS)
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
    command = [options.encode, "run", "--model", options.model, "--input", texts, "--field", "text", "--output", output,
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["programs", "runs"])
    for name in ("encode", "flips", "model", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    os.makedirs(options.work)
    sys.exit(1 if {"programs": programs, "runs": runs}[options.part](options) else 0)


main()
