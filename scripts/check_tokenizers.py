#!/usr/bin/env python3
"""Compares encode's tokenizers with Hugging Face `tokenizers` token for token, and their speed (CPU time of one thread).

  scripts/check_tokenizers.py [--tool build/bin/tokenize_lines] [--corpus NAME ..] [--rows N] TOKENIZER.json ..

Corpora: functions (of CPython's Lib/test), changelogs (/usr/share/doc, an entry a row), descriptions (apt-cache
dumpavail), random (Unicode of every kind), long (runs and texts without a space). Each is tokenized with and without
special tokens, and truncated to 8, 128 and 512 tokens. Prints a table; the exit code is 1 if anything differs.
"""
import argparse
import ast
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
import tokenizers  # noqa: E402


def functions():
    import test
    rows = []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(test.__file__), "**", "*.py"), recursive=True)):
        try:
            source = open(path, encoding="utf-8").read()
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        lines = source.splitlines(keepends=True)
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                rows.append("".join(lines[node.lineno - 1:node.end_lineno]))
    return rows


def changelogs():
    rows = []
    for path in sorted(glob.glob("/usr/share/doc/*/changelog*.gz")):
        if os.path.islink(path):
            continue
        text = gzip.open(path, "rt", encoding="utf-8", errors="replace").read()
        rows += [entry for entry in text.split("\n\n") if entry]
    return rows


def descriptions():
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, errors="replace").stdout
    return [line.split(": ", 1)[1] for line in text.splitlines() if line.startswith("Description:")]


INTERESTING = ([0, 9, 10, 11, 12, 13, 0x1C, 0x1F, 0x20, 0x27, 0x7F, 0x85, 0xA0, 0xAD, 0xDF, 0x130, 0x131, 0x17F, 0x1E9E,
                0x300, 0x301, 0x323, 0x327, 0x345, 0x3A3, 0x3C2, 0x1100, 0x1161, 0x11A8, 0xAC00, 0xAC01, 0x1F3FB, 0x1F468,
                0x200B, 0x200C, 0x200D, 0x200E, 0x2028, 0x202E, 0x2060, 0x2581, 0x3000, 0x30C9, 0x3099, 0xFB01, 0xFDFA,
                0xFE0F, 0xFEFF, 0xFFFD, 0xFFFF, 0x1D400, 0x2F800, 0x10FFFF])
BLOCKS = [(0x20, 0x7F), (0x20, 0x7F), (0x41, 0x7B), (0x30, 0x3A), (0xA0, 0x250), (0x250, 0x370), (0x370, 0x530),
          (0x530, 0x800), (0x900, 0x1000), (0x1000, 0x1400), (0x1D00, 0x2070), (0x2000, 0x2C00), (0x3000, 0x3400),
          (0x4E00, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A4), (0xF900, 0x10000), (0x10000, 0x12000), (0x1D000, 0x1E000),
          (0x1F000, 0x1FB00), (0x20000, 0x2FA20), (0, 0xD800), (0xE000, 0x110000)]
SNIPPETS = ["don't", "I'LL", "we'Ve", "'s", "<s>", "</s>", "<pad>", "[CLS]", "[MASK]", "<|endoftext|>", "<unk>", "  ",
            "\r\n", "\n\n", "\t\t", " \n ", "123456", "3.14", "foo_bar", "camelCase", "\U0001F468\u200d\U0001F469\u200d"
            "\U0001F467", "e\u0301", "\u1100\u1161\u11a8", "##ing", "\u2581", "\u0120", "<0x41>", "http://x.y/?a=b&c"]


def random_string(rng):
    parts = []
    for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 21])):
        kind = rng.random()
        if kind < 0.25:
            parts.append(rng.choice(SNIPPETS))
        elif kind < 0.45:
            parts.append(chr(rng.choice(INTERESTING)))
        else:
            low, high = rng.choice(BLOCKS)
            parts.append("".join(chr(rng.randrange(low, high)) for _ in range(rng.randint(1, 6))))
        if rng.random() < 0.3:
            parts.append(" ")
    return "".join(c for c in "".join(parts) if not 0xD800 <= ord(c) <= 0xDFFF)


def randoms():
    rng = random.Random(20240607)
    return [random_string(rng) for _ in range(50_000)]


def long_rows():
    rng = random.Random(5)
    rows = [c * n for c in ("a", " ", "\n", "1", "=", "\u4e2d", "\u00e9", "\U0001F600", "ab", "a ") for n in (100, 5000)]
    rows += ["".join(rng.choice("abcdefghij") for _ in range(20_000)) for _ in range(3)]
    rows += ["".join(rng.choice("aab") for _ in range(5_000)) for _ in range(3)]
    rows += ["".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(5_000)) for _ in range(3)]
    return rows


CORPORA = dict(functions=functions, changelogs=changelogs, descriptions=descriptions, random=randoms, long=long_rows)
SETTINGS = [(0, True), (0, False), (8, True), (128, True), (512, True), (128, False)]


def ours(tool, path, lines, length, special):
    command = [tool, path, "--lost"] + (["--max-length", str(length)] if length else [])
    command += [] if special else ["--no-special-tokens"]
    with tempfile.TemporaryFile() as out:
        subprocess.run(command, stdin=open(lines, "rb"), stdout=out, stderr=subprocess.DEVNULL, check=True)
        out.seek(0)
        return [json.loads(line) for line in out]


def seconds(tool, path, lines):
    command = [tool, path, "--time"]
    runs = [json.loads(subprocess.run(command, stdin=open(lines, "rb"), capture_output=True, check=True).stdout)
            for _ in range(3)]
    return min(run["cpu"] for run in runs), runs[0]["load"]


def compare(tool, path, name, rows, with_speed):
    reference = tokenizers.Tokenizer.from_file(path)
    reference.no_padding()
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        for row in rows:
            lines.write(json.dumps(row) + "\n")
        lines.flush()
        mismatches = []
        for length, special in SETTINGS:
            reference.no_truncation()
            full = [e.ids for e in reference.encode_batch_fast(rows, add_special_tokens=special)]
            if length:
                reference.enable_truncation(length)
            want = [e.ids for e in reference.encode_batch_fast(rows, add_special_tokens=special)] if length else full
            got = ours(tool, path, lines.name, length, special)
            for row, w, f, (ids, lost) in zip(rows, want, full, got):
                if ids != w or lost != len(f) - len(w):
                    mismatches.append((length, special, row, w, ids, lost))
        line = f"{name:13} {len(rows):7} rows x {len(SETTINGS)}: {len(mismatches)} mismatches"
        if with_speed:
            reference.no_truncation()
            megabytes = sum(len(row.encode()) for row in rows) / 1e6
            start = time.process_time()
            reference.encode_batch_fast(rows)
            theirs = time.process_time() - start
            mine, load = seconds(tool, path, lines.name)
            line += (f"; {megabytes:.1f} MB, ours {megabytes / mine:.1f} MB/s, tokenizers {megabytes / theirs:.2f} MB/s, "
                     f"{theirs / mine:.1f}x; load {load * 1000:.0f} ms")
        print(line, flush=True)
        for length, special, row, w, ids, lost in mismatches[:3]:
            at = next((i for i, (a, b) in enumerate(zip(w, ids)) if a != b), min(len(w), len(ids)))
            print(f"   max_length {length} special {special} lost {lost} at token {at}\n   row  {ascii(row[:300])}\n"
                  f"   want {w[max(0, at - 3):at + 8]}\n   got  {ids[max(0, at - 3):at + 8]}")
    return len(mismatches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizers", nargs="+")
    parser.add_argument("--tool", default="build/bin/tokenize_lines")
    parser.add_argument("--corpus", nargs="+", default=list(CORPORA))
    parser.add_argument("--rows", type=int, default=0, help="at most so many rows of each corpus, spread over it")
    parser.add_argument("--no-speed", action="store_true")
    arguments = parser.parse_args()
    bad = 0
    for name in arguments.corpus:
        rows = CORPORA[name]()
        if arguments.rows and len(rows) > arguments.rows:
            rows = rows[::len(rows) // arguments.rows][:arguments.rows]
        for path in arguments.tokenizers:
            print(path)
            bad += compare(arguments.tool, path, name, rows, not arguments.no_speed)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
