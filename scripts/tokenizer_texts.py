"""Collects texts to compare tokenizers with: real texts of this machine, random texts, and long texts without a space."""
import ast
import glob
import gzip
import json
import os
import pathlib
import random
import subprocess

CHANGELOG_ROWS = 143_428


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
    return thin_out(rows, CHANGELOG_ROWS)


def thin_out(rows, count, longest=100):
    """Returns at most `count` rows: the `longest` longest rows, and others spread evenly over the rest."""
    if len(rows) <= count:
        return rows
    by_length = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    kept, rest = set(by_length[:min(longest, count)]), sorted(by_length[min(longest, count):])
    wanted = count - len(kept)
    kept.update(rest[i * len(rest) // wanted] for i in range(wanted))
    return [rows[i] for i in sorted(kept)]


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


def randoms(seed, count):
    rng = random.Random(seed)
    return [random_string(rng) for _ in range(count)]


def long_rows():
    rng = random.Random(5)
    rows = [c * n for c in ("a", " ", "\n", "1", "=", "\u4e2d", "\u00e9", "\U0001F600", "ab", "a ") for n in (100, 5000)]
    rows += ["".join(rng.choice("abcdefghij") for _ in range(20_000)) for _ in range(3)]
    rows += ["".join(rng.choice("aab") for _ in range(5_000)) for _ in range(3)]
    rows += ["".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(5_000)) for _ in range(3)]
    return rows


CORPORA = dict(functions=functions, changelogs=changelogs, descriptions=descriptions, long=long_rows)


def read_texts(name):
    """Returns the rows of a corpus or of a file: JSONL with a string in each line, .inp of llama.cpp, or lines of text."""
    if name in CORPORA:
        return CORPORA[name]()
    text = pathlib.Path(name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    if name.endswith(".inp"):
        return text.split("\n__ggml_vocab_test__\n")
    return [text] + text.splitlines(keepends=True)
