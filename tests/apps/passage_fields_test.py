"""Tests passages of one field of a template, with the real worker.

    passage_fields_test.py ENCODE MODELS [MAKE_COLUMNAR]

MODELS is the folder tests/data/models. Without MAKE_COLUMNAR, Parquet and Arrow files are left out.
"""
import csv
import json
import subprocess
import sys
import unittest

import passages_run_test as base

ENCODE = base.ENCODE
MAKE_COLUMNAR = sys.argv[3:4]
TEMPLATE = "t: {title} | {body} ({{{year}}})"
RULE = ("--passage-tokens", "40", "--passage-overlap", "4", "--passage-field", "body")
KEYS = ("row", "passage", "byte_begin", "byte_end", "char_begin", "char_end", "tokens")
COLUMNS = ("title", "body", "year")
RECORDS = [{"title": f"row {row}", "body": base.DOCUMENTS[row], "year": 2000 + row} for row in range(24)]
# The text of a passage occurs in the other fields, in the template and several times in its own field.
RECORDS[5] = {"title": "text: (moon)", "body": "text: (moon) text: (moon). " * 20, "year": "t: moon"}
RECORDS[6] = {"title": "{body}", "body": "{title} {{body}} }{ " * 12, "year": None}
RECORDS[7] = {"title": "no body", "body": None, "year": 7}
RECORDS[8] = {"title": "", "body": "", "year": 8}
RECORDS[9] = {"title": "numbers", "body": 12345678901234567890123456789, "year": [1, 2]}


def text(value):
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def rendered(record, piece):
    return f"t: {text(record.get('title'))} | {piece} ({{{text(record.get('year'))}}})"


class PassageFields(base.PassagesRun):
    def setUp(self):
        super().setUp()
        self.write_records("in.jsonl", RECORDS)

    def write_records(self, name, records):
        path = self.path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    def words(self, name, *words, path=None, template=TEMPLATE):
        return [ENCODE, "run", "--model", self.model, "--input", path or self.path / "in.jsonl", "--text", template,
                "--missing-field", "empty", "--device", "cpu", "--output", self.path / f"{name}.npy", "--quiet", *words]

    def encode_fields(self, name, *words, **options):
        end = self.run_words(*self.words(name, *words, **options))
        self.assertEqual(end.returncode, 0, end.stderr)
        return end

    def places(self, name):
        return base.npy(self.path / f"{name}.passages.npy", "q")

    def tokenized(self, *words, rule="max_tokens=40,overlap=4,field=body", template=TEMPLATE, code=0):
        end = self.run_words(ENCODE, "tokenize", "--model", self.model, "--input", self.path / "in.jsonl", "--text", template,
                             "--missing-field", "empty", "--passages", rule, "--output", self.path / "cut.jsonl",
                             "--overwrite", *words)
        self.assertEqual(end.returncode, code, end.stderr)
        if code:
            return end
        return [json.loads(line) for line in (self.path / "cut.jsonl").read_text(encoding="utf-8").splitlines()]

    def assert_is_rendered(self, name, records, *options):
        """Each passage is a part of its field, and has the bits of the rendered text as a row of its own."""
        texts, numbers = [], {}
        for row, passage, byte_begin, byte_end, char_begin, char_end, tokens in self.places(name):
            body = text(records[row].get("body"))
            piece = body[char_begin:char_end]
            self.assertEqual(body.encode()[byte_begin:byte_end], piece.encode())
            self.assertEqual(passage, numbers.get(row, 0))
            self.assertLessEqual(tokens, 40)
            numbers[row] = passage + 1
            texts.append(rendered(records[row], piece))
        self.assertEqual(sorted(numbers), list(range(len(records))))
        self.write(name + "_rows.jsonl", texts)
        self.encode(name + "_rows", *options, texts=name + "_rows.jsonl")
        self.assertTrue((self.path / f"{name}.npy").read_bytes() == (self.path / f"{name}_rows.npy").read_bytes())
        return texts


class Vectors(PassageFields):
    def test_are_those_of_the_rendered_texts_as_rows(self):
        for by in ("sentence", "paragraph", "token"):
            self.encode_fields(by, *RULE, "--passages-by", by)
            texts = self.assert_is_rendered(by, RECORDS)
            self.assertGreater(len(texts), 2 * len(RECORDS))
            self.assertEqual(self.verify(by).returncode, 0)

    def test_have_the_prompt(self):
        self.encode_fields("out", *RULE, "--prompt", "find: ")
        self.assert_is_rendered("out", RECORDS, "--prompt", "find: ")

    def test_cover_the_field(self):
        self.encode_fields("out", *RULE[:2], *RULE[4:])
        joined = {}
        for row, _, begin, end, *_ in self.places("out"):
            joined[row] = joined.get(row, b"") + text(RECORDS[row]["body"]).encode()[begin:end]
        self.assertEqual([joined[row].decode() for row in range(len(RECORDS))], [text(record["body"]) for record in RECORDS])

    def test_do_not_depend_on_the_chunks(self):
        self.encode_fields("whole", *RULE, "--standard")
        for size in ("1", "7"):
            self.encode_fields("of" + size, *RULE, "--chunk-size", size)
            self.assert_same("whole", "of" + size)

    def test_of_a_field_at_the_edge_of_the_template(self):
        for name, template in (("first", "{body}{title}"), ("last", "{title}{body}"), ("alone", "{body}")):
            self.encode_fields(name, *RULE, template=template)
            records = [RECORDS[row] for row in range(len(RECORDS))]
            texts = []
            for row, _, _, _, begin, end, _ in self.places(name):
                values = {**records[row], "body": text(records[row]["body"])[begin:end]}
                texts.append("".join(text(values[field]) for field in template[1:-1].split("}{")))
            self.write("rows.jsonl", texts)
            self.encode(name + "_rows", texts="rows.jsonl")
            self.assertTrue((self.path / f"{name}.npy").read_bytes() == (self.path / f"{name}_rows.npy").read_bytes(), name)

    def test_the_field_of_a_text_without_a_template_is_the_whole_text(self):
        self.encode("plain", *base.RULE)
        self.encode("named", *base.RULE, "--passage-field", "text")
        self.assert_same("plain", "named")
        prints = [json.loads((self.path / f"{name}.npy.manifest.json").read_text())["fingerprint"] for name in ("plain", "named")]
        self.assertEqual(*prints)
        self.assertNotIn("passage_field", prints[0])

    # The parts are repaired one by one: half a character at the end of a field does not join the next field.
    def test_of_invalid_utf8_are_those_of_the_repaired_field(self):
        (self.path / "in.csv").write_bytes(b"a,body\nx\xe2\x82,\xac moon. A sea.\nok,\xff sea\n")
        self.encode_fields("out", "--passage-tokens", "40", "--passage-field", "body", path=self.path / "in.csv",
                           template="{a}{body}")
        self.assertEqual([place[2:6] for place in self.places("out")],
                         [(0, len("\ufffd moon. A sea.".encode()), 0, 14), (0, len("\ufffd sea".encode()), 0, 5)])
        self.write("rows.jsonl", ["x\ufffd\ufffd moon. A sea.", "ok\ufffd sea"])
        self.encode("rows", texts="rows.jsonl")
        self.assertTrue((self.path / "out.npy").read_bytes() == (self.path / "rows.npy").read_bytes())


class Formats(PassageFields):
    """All formats of records give the bytes of JSONL."""

    def setUp(self):
        super().setUp()
        self.records = [{key: text(record[key]) for key in COLUMNS} for record in RECORDS]
        self.encode_fields("jsonl", *RULE, path=self.write_records("text.jsonl", self.records))

    def assert_same_as_jsonl(self, path):
        self.encode_fields("other", *RULE, "--fresh", path=path)
        self.assert_same("jsonl", "other")

    def test_json(self):
        (self.path / "in.json").write_text(json.dumps(self.records))
        self.assert_same_as_jsonl(self.path / "in.json")

    def test_csv_and_tsv(self):
        for name, delimiter in (("in.csv", ","), ("in.tsv", "\t")):
            with open(self.path / name, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, delimiter=delimiter)
                writer.writerow(COLUMNS)
                writer.writerows([record[key] for key in COLUMNS] for record in self.records)
            self.assert_same_as_jsonl(self.path / name)

    @unittest.skipUnless(MAKE_COLUMNAR, "needs Arrow C++")
    def test_parquet_and_arrow(self):
        for suffix in ("parquet", "arrow"):
            path = self.path / f"in.{suffix}"
            columns = [{"name": name, "values": [record[name] for record in self.records]} for name in COLUMNS]
            (self.path / "columns.json").write_text(json.dumps(columns))
            subprocess.run([*MAKE_COLUMNAR, self.path / "columns.json", path], check=True)
            self.assert_same_as_jsonl(path)

    def test_a_pipe(self):
        with open(self.path / "text.jsonl", "rb") as lines:
            end = subprocess.run(self.words("piped", *RULE, "--format", "jsonl", path="-"), stdin=lines, capture_output=True)
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assert_same("jsonl", "piped")


class NoRoom(PassageFields):
    """A row whose other fields leave no room is set aside, and all others are encoded."""

    def setUp(self):
        super().setUp()
        self.records = [dict(record) for record in RECORDS]
        for row in (3, 11):
            self.records[row]["title"] = "word " * 60
        self.write_records("in.jsonl", self.records)

    def test_is_said_of_the_row(self):
        end = self.run_words(*self.words("out", *RULE))
        self.assertEqual(end.returncode, 65)
        self.assertIn("error[run.rows_set_aside]", end.stderr)
        self.assertIn("passages.no_room", end.stderr)
        end = self.run_words(*self.words("out", *RULE, "--standard", "--fresh"))
        self.assertEqual(end.returncode, 65)
        self.assertIn("passages.no_room", end.stderr)
        end = self.tokenized(code=65)
        self.assertIn("error[passages.no_room]", end.stderr)
        self.assertIn("in.jsonl:4", end.stderr)

    def test_does_not_end_the_command_that_shows_passages(self):
        end = self.tokenized(code=65)
        self.assertIn("2 rows set aside", end.stdout)
        lines = (self.path / "cut.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertEqual({json.loads(line)["row"] for line in lines}, set(range(len(self.records))) - {3, 11})

    def test_leaves_the_other_rows_as_they_are(self):
        good = [record for row, record in enumerate(self.records) if row not in (3, 11)]
        self.encode_fields("good", *RULE, path=self.write_records("good.jsonl", good))
        for size in ("1", "5", "100"):
            name = "zeros" + size
            self.encode_fields(name, *RULE, "--quarantine", "zeros", "--chunk-size", size)
            self.assertTrue((self.path / f"{name}.npy").read_bytes() == (self.path / "good.npy").read_bytes())
            listed = [json.loads(line) for line in (self.path / f"{name}.set_aside.jsonl").read_text().splitlines()]
            self.assertEqual([(row["row"], row["code"]) for row in listed], [(3, "passages.no_room"), (11, "passages.no_room")])
            self.assertEqual(self.verify(name).returncode, 0)
        self.encode_fields("mean", *RULE, "--row-vector", "mean", "--quarantine", "drop")
        self.assertEqual(len(base.npy(self.path / "mean.npy", "f")), len(good))

    def test_of_the_template_alone_refuses_the_run(self):
        template = "word " * 70 + "{body}"
        end = self.run_words(*self.words("out", *RULE, template=template))
        self.assertEqual(end.returncode, 78, end.stderr)
        self.assertIn("error[model.max_length]", end.stderr)
        self.assertIn("template", end.stderr)
        end = self.tokenized(code=78, template=template)
        self.assertIn("error[model.max_length]", end.stderr)

    def test_does_not_end_a_plan(self):
        inputs = [word for word in self.words("out", *RULE) if word != "--quiet"]
        inputs[1:2] = ["plan"]
        at = inputs.index("--output")
        end = self.run_words(*inputs[:at], *inputs[at + 2:])
        self.assertEqual(end.returncode, 0, end.stderr)


class Commands(PassageFields):
    def test_tokenize_finds_the_passages_of_the_run(self):
        cut = self.tokenized()
        self.encode_fields("out", *RULE)
        self.assertEqual(self.places("out"), [tuple(passage[key] for key in KEYS) for passage in cut])
        for passage in cut:
            record = RECORDS[passage["row"]]
            self.assertEqual(passage["text"], text(record["body"])[passage["char_begin"]:passage["char_end"]])
            self.assertEqual(passage["encoded"], rendered(record, passage["text"]))
        end = self.run_words(ENCODE, "run", "--model", self.model, "--input", self.path / "cut.jsonl", "--field", "encoded",
                             "--device", "cpu", "--output", self.path / "cut.npy", "--quiet")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertTrue((self.path / "cut.npy").read_bytes() == (self.path / "out.npy").read_bytes())

    def test_tokenize_takes_everything_behind_field_as_its_name(self):
        self.write_records("in.jsonl", [{"a,by=x": "One. Two."}])
        self.assertEqual(self.tokenized(rule="max_tokens=30,field=a,by=x", template="<{a,by=x}>")[0]["encoded"], "<One. Two.>")
        for rule in ("max_tokens=30,field=", "max_tokens=30,field=body"):
            end = self.tokenized(rule=rule, template="<{a,by=x}>", code=64)
            self.assertIn("error[", end.stderr)

    def test_search_and_the_report_show_the_piece(self):
        self.encode_fields("out", *RULE)
        cut = self.tokenized()
        end = self.run_words(ENCODE, "search", self.path / "out.npy", "the moon", "-k", "40", "--device", "cpu", "--json")
        self.assertEqual(end.returncode, 0, end.stderr)
        hits = json.loads(end.stdout)["hits"]
        self.assertGreater(len(hits), 30)
        for hit in hits:
            self.assertEqual((hit["text"], hit["input_row"]), (cut[hit["row"]]["text"], cut[hit["row"]]["row"]))
        end = self.run_words(ENCODE, "report", self.path / "out.npy", "--output", self.path / "report.html")
        self.assertEqual(end.returncode, 0, end.stderr)

    def test_another_field_is_another_input(self):
        words = ("--keep-chunks", "--cache-dir", self.path / "cache")
        self.encode_fields("out", *RULE, *words)
        for other in (("--passage-field", "title"), ()):
            end = self.run_words(*self.words("out", *RULE[:4], *other, *words))
            self.assertEqual(end.returncode, 78, end.stderr)
            self.assertIn("passage", end.stderr)

    def test_shards_give_the_bytes_of_one_run(self):
        self.encode_fields("whole", *RULE)
        config = self.path / "config.yaml"
        config.write_text(
            f"semantic: {{model: {self.model}, cache_dir: {self.path}/cache,\n"
            "           passages: {max_tokens: 40, overlap: 4, field: body}}\n"
            f"input: {{file: {self.path}/in.jsonl, text: '{TEMPLATE}', missing_field: empty}}\n"
            f"output: {{file: {self.path}/out.npy}}\n")
        for words in (("shards", "plan", "--shards", "2"), ("run", "--shard", "0/2"), ("run", "--shard", "1/2"),
                      ("merge", "--parts", "one")):
            end = self.run_words(ENCODE, *words, "--config", config, "--log-level", "warning")
            self.assertEqual(end.returncode, 0, end.stderr)
        self.assert_same("whole", "out")


class Refused(PassageFields):
    def test_is_a_field_that_is_not_once_in_the_template(self):
        for template, field in (("{title}", "body"), ("{body} {title} {body}", "body"), ("{{body}} {title}", "body")):
            end = self.run_words(*self.words("out", "--passage-tokens", "40", "--passage-field", field, template=template))
            self.assertEqual(end.returncode, 64, end.stderr)
            self.assertIn("error[config.conflict]", end.stderr)
        end = self.run_words(*self.words("out", "--passage-field", "body"))
        self.assertEqual(end.returncode, 64)
        self.assertIn("not cut", end.stderr)

    def test_is_a_row_without_the_field_unless_missing_fields_are_empty(self):
        words = [word for word in self.words("out", *RULE) if word not in ("--missing-field", "empty")]
        end = self.run_words(*words)
        self.assertEqual(end.returncode, 65)
        self.assertIn("in.jsonl:7", end.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
