"""Compares the texts of random templates with those of another implementation, in every format of records.

    template_test.py ENCODE [MAKE_COLUMNAR]

`encode tokenize` makes the texts, with a tokenizer whose tokens are the bytes. Without MAKE_COLUMNAR, Parquet and Arrow files are
left out.
"""
import csv
import json
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ENCODE, *MAKE_COLUMNAR = sys.argv[1:]
TEMPLATES = 200
ROWS = 15
LITERALS = ("title: ", " | ", "\n", "{", "}", "{}", "ü", "😀", "'", "\\n", "%s", "$x", "")
TEXTS = ("", "a", "Grüße", "two\nlines", "{name}", "}}{{", "say \"no\"", "a,b;c|d\te", " x ", "😀", "null", "None")
MISSING = object()


def byte_alphabet():
    """The character that stands for each byte in a byte-level tokenizer."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def write_tokenizer(path):
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    path.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {char: byte for byte, char in byte_alphabet().items()}, "merges": []}}))


def json_value(choice, depth=0):
    kinds = ["text", "text", "integer", "float", "bool", "null", "missing"] + ["list", "object"] * (depth < 2)
    kind = choice.choice(kinds)
    if kind == "text":
        return choice.choice(TEXTS)
    if kind == "integer":
        return choice.choice([0, 7, -3, 2**53 + 1, 2**63 - 1, 10**30])
    if kind == "float":
        return choice.choice([0.5, -2.25, 1e300])
    if kind == "list":
        return [value for value in (json_value(choice, depth + 1) for _ in range(3)) if value is not MISSING]
    if kind == "object":
        members = {name: json_value(choice, depth + 1) for name in ("main", "a/b", "~")}
        return {name: value for name, value in members.items() if value is not MISSING}
    return {"bool": choice.random() < 0.5, "null": None, "missing": MISSING}[kind]


JSON_FIELDS = ("title", "body", "a b", "", "~")
JSON_NAMES = ("title", "body", "a b", "/body/main", "/body/a~1b", "/body/~0", "/body/0", "/body/1/main", "/", "~")
COLUMNS = ("title", "n", "flag", "a b", "ü")


def json_rows(choice):
    rows = []
    for _ in range(ROWS):
        row = {name: json_value(choice) for name in JSON_FIELDS}
        rows.append({name: value for name, value in row.items() if value is not MISSING})
    return rows


def column_rows(choice):
    """Rows of strings, integers and booleans, with nulls."""
    def value(name):
        if choice.random() < 0.02:
            return None
        return {"n": choice.randrange(-9, 9), "flag": choice.random() < 0.5}.get(name, choice.choice(TEXTS))
    return [{name: value(name) for name in COLUMNS} for _ in range(ROWS)]


class Refused(Exception):
    """The record has another shape than the field, so that it is refused under both policies."""


def json_field(row, name):
    """Returns the value of a field; MISSING if there is none or it is null."""
    if not name.startswith("/"):
        tokens = [name]
    else:
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in name[1:].split("/")]
    value = row
    for token in tokens:
        if value is None:
            return MISSING
        if isinstance(value, dict):
            value = value.get(token, MISSING)
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]*", token):
            value = value[int(token)] if int(token) < len(value) else MISSING
        else:
            raise Refused
        if value is MISSING:
            return MISSING
    return MISSING if value is None else value


def written(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def expected(template, rows, field_of, empty):
    """Returns the texts, or the number of the first refused row and the field that it is refused for."""
    texts = []
    for number, row in enumerate(rows):
        values = {}
        for name in re.findall(r"\{([^{}]+)\}", re.sub(r"\{\{|\}\}", "", template)):
            try:
                value = field_of(row, name)
            except Refused:
                return number, name
            if value is MISSING and not empty:
                return number, name
            values[name] = "" if value is MISSING else written(value)
        texts.append(re.sub(r"\{\{|\}\}|\{([^{}]+)\}",
                            lambda match: values[match[1]] if match[1] else match[0][0], template))
    return texts


def random_template(choice, names):
    parts = [choice.choice(LITERALS).replace("{", "{{").replace("}", "}}") for _ in range(choice.randrange(4))]
    parts += ["{" + name + "}" for name in choice.choices(names, k=choice.randrange(1, 4))]
    choice.shuffle(parts)
    return "".join(parts)


def write_csv(path, rows, delimiter):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([row[name] for name in COLUMNS] for row in rows)


def csv_field(row, name):
    """The csv module writes None as an empty field, and True as True."""
    return "" if row[name] is None else str(row[name])


def column_field(row, name):
    return MISSING if row[name] is None else row[name]


class Templates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        write_tokenizer(self.folder / "tokenizer.json")

    def texts_of(self, path, template, empty):
        """Returns the texts, or the message of the error."""
        output = self.folder / "ids.jsonl"
        end = subprocess.run(
            [ENCODE, "tokenize", "--tokenizer", self.folder / "tokenizer.json", "--input", path, "--text", template,
             "--missing-field", "empty" if empty else "error", "--no-lost-count", "--overwrite", "--output", output],
            capture_output=True, text=True)
        if end.returncode == 65:
            return end.stderr
        self.assertEqual((end.returncode, end.stderr), (0, ""), (path, template))
        lines = output.read_text().splitlines()
        return [bytes(json.loads(line)["input_ids"]).decode() for line in lines]

    def check(self, path, names, rows, field_of, place):
        """Compares the texts of random templates. `place` makes the place of a row in the file of its number."""
        choice = random.Random(path.name)
        refused = 0
        for _ in range(TEMPLATES):
            template = random_template(choice, names)
            empty = choice.random() < 0.7
            wanted = expected(template, rows, field_of, empty)
            found = self.texts_of(path, template, empty)
            if isinstance(wanted, list):
                self.assertEqual(found, wanted, (path, template, empty))
                continue
            refused += 1
            self.assertIsInstance(found, str, (path, template, empty, wanted))
            self.assertIn(f"{path}:{place(wanted[0])}", found)
            self.assertIn(f"'{wanted[1]}'", found)
        self.assertLess(refused, TEMPLATES * 9 // 10)

    def test_jsonl_and_json(self):
        rows = json_rows(random.Random(1))
        for row in rows[:-1]:  # most templates find their fields in most rows
            for name in JSON_FIELDS:
                row.setdefault(name, "x")
        lines = [json.dumps(row, ensure_ascii=number % 2 == 0) for number, row in enumerate(rows)]
        jsonl = self.folder / "in.jsonl"
        jsonl.write_text("\n".join(lines), encoding="utf-8")
        array = self.folder / "in.json"
        array.write_text("[" + " ,\n".join(lines) + "]", encoding="utf-8")
        for path in (jsonl, array):
            self.check(path, JSON_NAMES, rows, json_field, lambda number: number + 1)

    def test_csv_and_tsv(self):
        rows = column_rows(random.Random(2))
        for name, delimiter in (("in.csv", ","), ("in.tsv", "\t")):
            write_csv(self.folder / name, rows, delimiter)
            self.check(self.folder / name, COLUMNS, rows, csv_field, None)

    @unittest.skipUnless(MAKE_COLUMNAR, "a build without Arrow C++")
    def test_parquet_and_arrow(self):
        rows = column_rows(random.Random(3))
        columns = [{"name": name, "values": [row[name] for row in rows]} for name in COLUMNS]
        (self.folder / "columns.json").write_text(json.dumps(columns))
        for name in ("in.parquet", "in.arrow"):
            path = self.folder / name
            subprocess.run([*MAKE_COLUMNAR, self.folder / "columns.json", path], check=True)
            self.check(path, COLUMNS, rows, column_field, lambda number: number + 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
