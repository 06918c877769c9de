"""Compares the rows that random filters keep with those of another implementation, in every format of records.

    filter_test.py ENCODE TOKENIZER [MAKE_COLUMNAR]

`encode tokenize` reads the rows; the text of a row is its number in letters, so the ids name the rows. Without MAKE_COLUMNAR,
Parquet and Arrow files are left out.
"""
import csv
import json
import random
import re
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

ENCODE, TOKENIZER, *MAKE_COLUMNAR = sys.argv[1:]
FILTERS = 200
ROWS = 25
STRINGS = ("", "a", "b", "en", "Grüße", "😀", "é", "e\u0301", "Z", "say \"no\"", "it's", "back\\slash", "tab\there", "10", "9",
           "true", "null")
INTEGERS = (0, 7, -3, 20, 2**53, 2**53 + 1, -(2**63), 2**63 - 1)
FLOATS = (0.5, -2.25, 1e300, 0.1, 20.0)
ORDERS = {"==": lambda order: order == 0, "!=": lambda order: order != 0, "<": lambda order: order < 0,
          "<=": lambda order: order <= 0, ">": lambda order: order > 0, ">=": lambda order: order >= 0}
SPELLED = {"==": ("==", "="), "!=": ("!=", "<>")}


class Untyped(str):
    """A value of CSV or TSV, to which the other side of a comparison gives the type."""


class Mismatch(Exception):
    """The filter compares values of different types."""


def as_type(value, other):
    """Gives an untyped value the type of what it is compared with."""
    if not isinstance(value, Untyped):
        return value
    if isinstance(other, bool):
        if value.lower() not in ("true", "false"):
            raise Mismatch
        return value.lower() == "true"
    if isinstance(other, Decimal):
        if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", value):
            raise Mismatch
        return Decimal(value)
    return str(value)


def compare(comparison, left, right):
    """Returns True, False or None as SQL does."""
    if left is None or right is None:
        return None
    if isinstance(left, Untyped) and isinstance(right, Untyped) and comparison not in ("==", "!="):
        raise Mismatch
    left, right = as_type(left, right), as_type(right, left)
    if type(left) is not type(right) or isinstance(left, (list, dict)):
        raise Mismatch
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return ORDERS[comparison]((left > right) - (left < right))


def length(value):
    if value is None:
        return None
    if not isinstance(value, str):
        raise Mismatch
    return Decimal(len(value))


def both(parts, decisive):
    """`and` (decisive is False) and `or` (True) of functions, from left to right."""
    result = not decisive
    for part in parts:
        value = part()
        if value is decisive:
            return decisive
        if value is None:
            result = None
    return result


def within(value, values):
    return both([lambda one=one: compare("==", value, one) for one in values], True)


def inverted(value):
    return None if value is None else not value


def quoted(text):
    quote = "'" if len(text) % 2 else '"'
    escaped = text.replace("\\", "\\\\").replace(quote, "\\" + quote).replace("\t", "\\t")
    return quote + escaped + quote


class Filters:
    """Makes random filters: their text, and a function that applies them to a record."""

    def __init__(self, choice, fields, field_of):
        self.choice, self.fields, self.field_of = choice, fields, field_of

    def field(self, kinds):
        """Returns the text and the function of a field, mostly of one of these kinds."""
        names = [name for name, kind in self.fields.items() if kind in kinds]
        name = self.choice.choice(names if self.choice.random() < 0.92 else list(self.fields))
        plain = re.fullmatch(r"[A-Za-z_ü][A-Za-z0-9_ü]*|/[^ ]+", name) and name not in ("in", "is")
        return name if plain else f"`{name}`", lambda row: self.field_of(row, name)

    def literal(self, kind):
        if kind == "string":
            text = self.choice.choice(STRINGS)
            return quoted(text), text
        if kind == "bool":
            truth = self.choice.random() < 0.5
            return self.choice.choice([str(truth).lower(), str(truth)]), truth
        number = self.choice.choice([*INTEGERS, *FLOATS, "1e1", "2.50", "-0", "9007199254740993.0", "1e400"])
        return str(number), Decimal(str(number))

    def operand(self, kind):
        if kind == "number" and self.choice.random() < 0.3:
            name, value = self.field(("string",))
            return f"length({name})", lambda row: length(value(row))
        return self.field((kind,))

    def condition(self):
        kind = self.choice.choice(["string", "number", "number", "bool"])
        left, left_of = self.operand(kind)
        form = self.choice.random()
        if form < 0.15:
            text, negative = self.choice.choice([("is null", False), ("IS NOT NULL", True)])
            return f"{left} {text}", lambda row: (left_of(row) is None) is not negative
        if form < 0.35:
            values = [self.literal(kind) for _ in range(self.choice.randrange(1, 4))]
            if self.choice.random() < 0.2:
                values.insert(self.choice.randrange(len(values) + 1), ("null", None))
            negative = self.choice.random() < 0.3
            text = ", ".join(text for text, _ in values)
            constants = [value for _, value in values]
            text = f"({text})" if self.choice.random() < 0.5 else f"[{text}]"
            found = lambda row: within(left_of(row), constants)
            return f"{left} {'not in' if negative else 'in'} {text}", (
                (lambda row: inverted(found(row))) if negative else found)
        if kind == "bool" and form < 0.6 and "length" not in left:
            return left, lambda row: compare("==", left_of(row), True)
        if form < 0.45:
            right, right_of = self.operand(kind)
        else:
            right, constant = self.literal(kind)
            right_of = lambda row: constant
        if self.choice.random() < 0.2:
            left, left_of, right, right_of = right, right_of, left, left_of
        comparison = self.choice.choice(list(ORDERS))
        sign = self.choice.choice(SPELLED.get(comparison, (comparison,)))
        space = self.choice.choice(["", " ", "\n"])
        return f"{left}{space}{sign}{space}{right}", lambda row: compare(comparison, left_of(row), right_of(row))

    def expression(self, depth=0):
        if depth == 3 or self.choice.random() < 0.4:
            return self.condition()
        if self.choice.random() < 0.25:
            text, value = self.expression(depth + 1)
            return f"{self.choice.choice(['not', 'NOT'])} ({text})", lambda row: inverted(value(row))
        decisive, word = self.choice.choice([(False, "and"), (True, "or"), (True, "OR")])
        parts = [self.expression(depth + 1) for _ in range(self.choice.randrange(2, 4))]
        text = f" {word} ".join(f"({text})" for text, _ in parts)
        return text, lambda row: both([lambda value=value: value(row) for _, value in parts], decisive)


def json_value(choice, kind):
    if choice.random() < 0.15:
        return None
    return {"string": lambda: choice.choice(STRINGS), "number": lambda: choice.choice([*INTEGERS, 10**30, *FLOATS]),
            "bool": lambda: choice.random() < 0.5}[kind]()


JSON_FIELDS = {"s": "string", "a b": "string", "n": "number", "in": "number", "b": "bool", "/o/s": "string", "/o/l/1": "number",
               "nothing": "string", "o": "other", "x-y": "number"}
COLUMNS = {"s": "string", "a b": "string", "n": "number", "f": "number", "b": "bool", "ü": "string"}


def json_rows(choice):
    rows = []
    for number in range(ROWS):
        row = {"id": str(number)}
        for name in ("s", "a b", "n", "in", "b", "x-y"):
            value = json_value(choice, JSON_FIELDS[name])
            if value is not None or choice.random() < 0.5:
                row[name] = value
        row["o"] = choice.choice([None, {"s": json_value(choice, "string"), "l": [0, json_value(choice, "number")]}, {}])
        rows.append(row)
    return rows


def typed(value):
    return Decimal(json.dumps(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def json_field(row, name):
    value = row
    for token in name[1:].split("/") if name.startswith("/") else [name]:
        if isinstance(value, list):
            value = value[int(token)]
        else:
            value = value.get(token) if value is not None else None
    return typed(value)


def column_rows(choice):
    rows = []
    for number in range(ROWS):
        row = {name: json_value(choice, kind) for name, kind in COLUMNS.items()}
        row["n"] = choice.choice([None, *INTEGERS])
        row["f"] = choice.choice([None, *FLOATS])
        rows.append({**row, "id": str(number)})
    return rows


def column_field(row, name):
    return typed(row[name])


def csv_field(row, name):
    """The csv module writes None as an empty field, and an empty field is null."""
    return None if row[name] in (None, "") else Untyped(row[name])


class FiltersOfRows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def kept(self, path, where):
        """Returns the numbers of the rows that the filter keeps, or the message of the error."""
        output = self.folder / "ids.jsonl"
        end = subprocess.run(
            [ENCODE, "tokenize", "--tokenizer", TOKENIZER, "--input", path, "--field", "id", "--where", where, "--tokens",
             "--no-lost-count", "--no-special-tokens", "--overwrite", "--output", output], capture_output=True, text=True)
        if end.returncode == 65:
            return end.stderr
        self.assertEqual((end.returncode, end.stderr), (0, ""), (path, where))
        lines = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual([line["row"] for line in lines], list(range(len(lines))))
        return ["".join(line["tokens"]).replace("#", "") for line in lines]

    def check(self, path, rows, filters, place):
        """Compares the rows of random filters. `place` makes the line of a row in the file from its number."""
        seen = {"refused": 0, "kept": 0, "dropped": 0}
        for _ in range(FILTERS):
            where, value = filters.expression()
            wanted = []
            refused = None
            for number, row in enumerate(rows):
                try:
                    if value(row) is True:
                        wanted.append(row["id"])
                except Mismatch:
                    refused = number
                    break
            found = self.kept(path, where)
            if refused is None:
                self.assertEqual(found, wanted, (path, where))
                seen["kept"] += len(wanted)
                seen["dropped"] += len(rows) - len(wanted)
                continue
            seen["refused"] += 1
            self.assertIsInstance(found, str, (path, where, refused))
            self.assertIn(f"{path}:{place(refused)}", found)
            self.assertIn("filter.type", found)
        self.assertLess(seen["refused"], FILTERS * 2 // 3)
        for count in seen.values():
            self.assertGreater(count, 5)

    def test_jsonl_and_json(self):
        rows = json_rows(random.Random(1))
        lines = [json.dumps(row, ensure_ascii=number % 2 == 0) for number, row in enumerate(rows)]
        (self.folder / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (self.folder / "in.json").write_text("[" + " ,\n".join(lines) + "]", encoding="utf-8")
        for name in ("in.jsonl", "in.json"):
            self.check(self.folder / name, rows, Filters(random.Random(name), JSON_FIELDS, json_field),
                       lambda number: number + 1)

    def test_csv_and_tsv(self):
        rows = column_rows(random.Random(2))
        for row in rows:
            row.update({name: None if row[name] is None else str(row[name]) for name in COLUMNS})
        for name, delimiter in (("in.csv", ","), ("in.tsv", "\t")):
            with open(self.folder / name, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, ["id", *COLUMNS], delimiter=delimiter, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            self.check(self.folder / name, rows, Filters(random.Random(name), COLUMNS, csv_field), lambda number: number + 2)

    @unittest.skipUnless(MAKE_COLUMNAR, "a build without Arrow C++")
    def test_parquet_and_arrow(self):
        rows = column_rows(random.Random(3))
        columns = [{"name": name, "values": [row[name] for row in rows]} for name in ("id", *COLUMNS)]
        (self.folder / "columns.json").write_text(json.dumps(columns))
        for name in ("in.parquet", "in.arrow"):
            path = self.folder / name
            subprocess.run([*MAKE_COLUMNAR, self.folder / "columns.json", path], check=True)
            self.check(path, rows, Filters(random.Random(name), COLUMNS, column_field), lambda number: number + 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
