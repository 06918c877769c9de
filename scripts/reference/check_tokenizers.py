#!/usr/bin/env python3
"""Compares encode's tokenizers token by token with Hugging Face `tokenizers`, or with `sentencepiece` for .model files.

  check_tokenizers.py [--texts NAME|FILE ..] [--random N] [--record FOLDER] TOKENIZER.json|FILE.model ..
  check_tokenizers.py --offsets [--rows N] [--texts NAME|FILE ..] [--random N] TOKENIZER.json|FILE.model ..

Each text is tokenized in eight settings: with and without special tokens, and truncated to 8, 128 and 512 tokens or not at
all. The number of tokens that truncation removes is compared too. The reference for a tokenizer.json is:
- without special tokens and truncation: encode_batch_fast;
- for the other seven settings: `post_process` of that result, in which `tokenizers` truncates and adds special tokens. A
  text that is not longer than the truncation is taken unchanged. On every 37th text and the 50 longest, this reference is
  checked against encode_batch_fast with the same settings.

`sentencepiece` does not truncate and adds no special tokens to ids. For a .model file the reference is BOS, the first
tokens and EOS.

The program prints a Markdown table. The exit code is 1 if anything differs.

With --offsets the program compares the ids and offsets of encode_batch instead: with special tokens, without them, and
truncated to 8 tokens. For .model files the reference is sentencepiece, which must be older than 0.2.1. This takes longer,
so give --rows.
"""
import argparse
import array
import ast
import collections
import dataclasses
import glob
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import zlib

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

Setting = collections.namedtuple("Setting", "length special")
SETTINGS = [Setting(length, special) for special in (True, False) for length in (0, 8, 128, 512)]
OFFSET_SETTINGS = [Setting(0, True), Setting(0, False), Setting(8, True)]
BLOCK = 2000  # rows at a time, because the encodings of `tokenizers` take far more memory than the ids
CHANGELOG_ROWS = 143_428
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


class HuggingFace:
    def __init__(self, path):
        import tokenizers
        self.tokenizer = tokenizers.Tokenizer.from_file(path)
        self.tokenizer.no_padding()
        self.wrong_shortcuts = 0

    def encode(self, rows, setting):
        """Returns the ids of each row by encode_batch_fast."""
        self.truncate(setting.length)
        return [e.ids for e in self.tokenizer.encode_batch_fast(rows, add_special_tokens=setting.special)]

    def truncate(self, length):
        if length:
            self.tokenizer.enable_truncation(length)
        else:
            self.tokenizer.no_truncation()

    def all_settings(self, rows):
        """Returns {setting: ids of each row}."""
        self.truncate(0)
        plain = self.tokenizer.encode_batch_fast(rows, add_special_tokens=False)
        found = {Setting(0, False): [e.ids for e in plain],
                 Setting(0, True): [self.tokenizer.post_process(e, None, True).ids for e in plain]}
        for setting in SETTINGS:
            if setting.length:
                self.truncate(setting.length)
                full = found[Setting(0, setting.special)]
                found[setting] = [ids if len(ids) <= setting.length
                                  else self.tokenizer.post_process(encoding, None, setting.special).ids
                                  for encoding, ids in zip(plain, full)]
        return found

    def with_offsets(self, rows, setting):
        """Returns (number of lost tokens, ids, offsets) of each row."""
        self.truncate(setting.length)
        return [(sum(len(o.ids) for o in e.overflowing) - setting.special * len(e.overflowing) * self.special_tokens(),
                 e.ids, e.offsets) for e in self.tokenizer.encode_batch(rows, add_special_tokens=setting.special)]

    def special_tokens(self):
        return self.tokenizer.num_special_tokens_to_add(False)

    def check_shortcut(self, rows):
        """Counts the settings in which truncation by post_process differs from truncation by encode_batch_fast."""
        derived = self.all_settings(rows)
        for setting in SETTINGS:
            self.wrong_shortcuts += self.encode(rows, setting) != derived[setting]


class SentencePiece:
    def __init__(self, path):
        import sentencepiece
        self.processor = sentencepiece.SentencePieceProcessor(model_file=path)
        self.wrong_shortcuts = 0

    def all_settings(self, rows):
        ids = self.processor.encode(rows, num_threads=1)
        found = {}
        for setting in SETTINGS:
            bos = [self.processor.bos_id()] if setting.special else []
            eos = [self.processor.eos_id()] if setting.special else []
            room = setting.length - 2 * setting.special if setting.length else None
            found[setting] = [bos + row[:room] + eos for row in ids]
        return found

    def with_offsets(self, rows, setting):
        special = [(self.processor.bos_id(), 0, 0)] if setting.special else []
        end = [(self.processor.eos_id(), 0, 0)] if setting.special else []
        room = setting.length - 2 * setting.special if setting.length else None
        for row in rows:
            pieces = self.processor.encode(row, out_type="immutable_proto").pieces
            kept = special + [(p.id, p.begin, p.end) for p in pieces[:room]] + end
            yield (len(pieces) - len(pieces[:room]), [token[0] for token in kept], [token[1:] for token in kept])

    def check_shortcut(self, rows):
        pass


def append_rows(stream, full, cut):
    """Appends rows in the format of `tokenize_lines --binary`: count, lost tokens and ids of each row as int32."""
    for all_ids, ids in zip(full, cut):
        stream.append(len(ids))
        stream.append(len(all_ids) - len(ids))
        stream.extend(ids)


def record(path, rows, folder):
    """Writes the result of the reference for each setting. Returns how often its two ways to truncate differed."""
    reference = SentencePiece(path) if path.endswith(".model") else HuggingFace(path)
    streams = {setting: open(file_of(folder, setting), "wb") for setting in SETTINGS}
    for begin in range(0, len(rows), BLOCK):
        found = reference.all_settings(rows[begin:begin + BLOCK])
        for setting, stream in streams.items():
            block = array.array("i")
            append_rows(block, found[Setting(0, setting.special)], found[setting])
            block.tofile(stream)
    for stream in streams.values():
        stream.close()
    reference.check_shortcut(thin_out(rows, len(rows) // 37, 50))
    return reference.wrong_shortcuts


def file_of(folder, setting):
    return os.path.join(folder, f"{setting.length}-{'special' if setting.special else 'plain'}.i32")


@dataclasses.dataclass(frozen=True)
class Ours:
    """The tool with one tokenizer. It reads the rows of the file `lines`, and writes their ids to the file `out`."""
    tool: str
    path: str
    lines: str
    out: str

    def run(self, setting, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = self.path
            if path.endswith(".model"):
                # For a .model file, tokenizer_config.json says which special tokens are added.
                os.symlink(os.path.abspath(path), os.path.join(folder, "tokenizer.model"))
                pathlib.Path(folder, "tokenizer_config.json").write_text('{"add_bos_token": true, "add_eos_token": true}')
                path = folder
            command = [self.tool, path, "--binary", *options] + ["--no-special-tokens"] * (not setting.special)
            command += ["--max-length", str(setting.length)] * bool(setting.length)
            with open(self.lines, "rb") as texts, open(self.out, "wb") as output:
                subprocess.run(command, stdin=texts, stdout=output, stderr=subprocess.DEVNULL, check=True)


def rows_of(stream, numbers=1):
    """Yields (lost tokens, `numbers` numbers for each token) of each row."""
    at = 0
    while at < len(stream):
        count, lost = stream[at:at + 2]
        yield lost, stream[at + 2:at + 2 + numbers * count]
        at += 2 + numbers * count


def mismatches(expected, found, rows, setting):
    expected, found = pathlib.Path(expected).read_bytes(), pathlib.Path(found).read_bytes()
    if expected == found:
        return 0
    count = 0
    pairs = zip(rows, rows_of(array.array("i", expected)), rows_of(array.array("i", found)), strict=True)
    for row, (want_lost, want), (lost, ids) in pairs:
        if (want_lost, want) == (lost, ids):
            continue
        count += 1
        if count <= 3:
            at = next((i for i, (a, b) in enumerate(zip(want, ids)) if a != b), min(len(want), len(ids)))
            around = slice(max(0, at - 3), at + 8)
            print(f"{setting}: lost {lost}, expected {want_lost}; at token {at}\n   row  {ascii(row[:300])}\n"
                  f"   want {list(want[around])}\n   got  {list(ids[around])}", file=sys.stderr)
    return count


def compare(arguments, path, texts):
    name = name_of(path)
    rows = texts + randoms(zlib.crc32(name.encode()), arguments.random)
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(arguments.record, name) if arguments.record else scratch
        os.makedirs(folder, exist_ok=True)
        note = pathlib.Path(folder, "done.json")
        wrong = json.loads(note.read_text()) if note.exists() else record(path, rows, folder)
        note.write_text(json.dumps(wrong))
        lines, out = os.path.join(scratch, "rows.jsonl"), os.path.join(scratch, "ids.i32")
        with open(lines, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        ours = Ours(arguments.tool, path, lines, out)
        bad = 0
        for setting in SETTINGS:
            ours.run(setting)
            bad += mismatches(file_of(folder, setting), out, rows, setting)
        ids = os.path.getsize(file_of(folder, Setting(0, True))) // 4 - 2 * len(rows)
    megabytes = sum(len(row.encode()) for row in rows) / 1e6
    print(f"| {name} | {len(rows):,} | {megabytes:.1f} | {ids:,} | {len(SETTINGS) * len(rows):,} | {bad} | {wrong} |",
          flush=True)
    return bad + wrong


def compare_offsets(arguments, path, texts):
    name = name_of(path)
    rows = texts + randoms(zlib.crc32(name.encode()), arguments.random)
    reference = SentencePiece(path) if path.endswith(".model") else HuggingFace(path)
    bad = tokens = 0
    with tempfile.TemporaryDirectory() as scratch:
        lines, out = os.path.join(scratch, "rows.jsonl"), os.path.join(scratch, "offsets.i32")
        ours = Ours(arguments.tool, path, lines, out)
        for begin in range(0, len(rows), BLOCK):
            block = rows[begin:begin + BLOCK]
            with open(lines, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in block)
            for setting in OFFSET_SETTINGS:
                ours.run(setting, "--offsets")
                found = rows_of(array.array("i", pathlib.Path(out).read_bytes()), numbers=3)
                for row, expected, got in zip(block, reference.with_offsets(block, setting), found, strict=True):
                    tokens += len(expected[1])
                    difference = difference_of(expected, got)
                    if difference and bad < 5:
                        print(f"{setting}: {difference}\n   row  {ascii(row[:300])}", file=sys.stderr)
                    bad += difference is not None
    print(f"| {name} | {len(rows):,} | {tokens:,} | {len(OFFSET_SETTINGS) * len(rows):,} | {bad} |", flush=True)
    return bad


def difference_of(expected, found):
    """Describes the difference between two rows. Returns None if they are equal."""
    lost, ids, offsets = expected
    got_lost, numbers = found
    got_ids, flat = list(numbers[:len(numbers) // 3]), numbers[len(numbers) // 3:]
    got = list(zip(flat[::2], flat[1::2]))
    if (lost, list(ids), list(offsets)) == (got_lost, got_ids, got):
        return None
    at = next((i for i, (a, b) in enumerate(zip(offsets, got)) if a != b), 0)
    around = slice(max(0, at - 3), at + 8)
    same = "equal" if list(ids) == got_ids else "other"
    return (f"lost {got_lost}, expected {lost}; {same} ids; at token {at}\n"
            f"   want {list(offsets[around])}\n   got  {got[around]}")


def name_of(path):
    path = pathlib.Path(path)
    return path.parent.name if path.name == "tokenizer.json" else path.name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizers", nargs="+")
    parser.add_argument("--tool", default="build/bin/tokenize_lines")
    parser.add_argument("--texts", nargs="+", default=list(CORPORA), help=f"{', '.join(CORPORA)}, or files")
    parser.add_argument("--rows", type=int, default=0, help="the most rows of each corpus, the longest among them (0: all)")
    parser.add_argument("--random", type=int, default=200_000, help="random strings for each vocabulary")
    parser.add_argument("--record", help="a folder for the results of the reference; results that are there are used again")
    parser.add_argument("--offsets", action="store_true", help="compare offsets")
    arguments = parser.parse_args()
    texts = []
    for name in arguments.texts:
        rows = read_texts(name)
        texts += thin_out(rows, arguments.rows) if arguments.rows else rows
    if arguments.offsets:
        print("| vocabulary | texts | tokens | comparisons | mismatches |\n|---|---|---|---|---|")
    else:
        print("| vocabulary | texts | MB | tokens | comparisons | mismatches | differences between the reference's two ways |")
        print("|---|---|---|---|---|---|---|")
    bad = 0
    for path in arguments.tokenizers:
        bad += (compare_offsets if arguments.offsets else compare)(arguments, path, texts)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
