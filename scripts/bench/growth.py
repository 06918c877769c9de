#!/usr/bin/env python3
"""Measures how time and memory grow with the number of rows and with their length.

    growth.py --encode build/bin/encode --model DIR --threads N [--dtype T] [--rows 1000,10000,100000,1000000]
              [--lengths 16,32,..,8192] [--tokens 200000]

First it encodes growing numbers of short rows in ten chunks, and prints the speed of each tenth of the last run. Then it
encodes rows of one length at a time, about --tokens tokens for each length. These rows are random ids, so the lengths are
exact. Lengths beyond the model's limit are left out. It prints Markdown tables.
"""
import argparse
import json
import pathlib
import random
import tempfile

import ours

SHORT_WORDS = ("fix", "add", "the", "test", "for", "update", "of", "docs", "in", "build")
FIRST_ID, LAST_ID = 1000, 20000  # ids of words in every vocabulary of BERT's size


def short_rows(path, count):
    choice = random.Random(1)
    with path.open("w") as file:
        for _ in range(count):
            file.write(json.dumps({"text": " ".join(choice.choices(SHORT_WORDS, k=8))}) + "\n")


def rows_of_length(path, length, tokens):
    choice = random.Random(1)
    with path.open("w") as file:
        for _ in range(max(tokens // length, 1)):
            file.write(json.dumps({"text": [choice.randint(FIRST_ID, LAST_ID) for _ in range(length)]}) + "\n")


def line(label, run):
    stages = run.stages
    print(f"| {label:,} | {run.rows:,} | {run.tokens:,} | {run.seconds:.2f} | {run.tokens / run.seconds:,.0f} | "
          f"{run.rows / run.seconds:,.0f} | {stages['tokenize']:.2f} | {stages['rows awaited']:.2f} | "
          f"{stages['commit']:.2f} | {run.peak_bytes / 1e6:.0f} MB |", flush=True)


def tenths(run):
    return ", ".join(f"{tokens / seconds:,.0f}" for tokens, seconds in run.chunks)


def head(label):
    print(f"| {label} | rows | tokens | seconds | tokens/s | rows/s | tokenize | rows awaited | commit | peak memory |\n"
          f"|{'---|' * 10}")


def longest(model):
    config = json.loads((model / "config.json").read_text())
    return config["max_position_embeddings"]


def numbers(text):
    return [int(value) for value in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--rows", type=numbers, default=numbers("1000,10000,100000,1000000"))
    parser.add_argument("--lengths", type=numbers, default=[2**power for power in range(4, 14)])
    parser.add_argument("--tokens", type=int, default=200000)
    args = parser.parse_args()
    flags = ("--threads", args.threads, "--dtype", args.dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.jsonl"
        head("short rows")
        for count in args.rows:
            short_rows(path, count)
            run = ours.encode(args.encode, args.model, path, *flags, "--chunk-size", max(count // 10, 1))
            line(count, run)
        print(f"\nTokens/s of the tenths of the last run: {tenths(run)}\n")
        head("tokens in a row")
        for length in (length for length in args.lengths if length <= longest(args.model)):
            rows_of_length(path, length, args.tokens)
            line(length, ours.encode(args.encode, args.model, path, "--max-length", length, *flags))


if __name__ == "__main__":
    main()
