"""Tests `encode tokenize --passages`.

    passages_test.py ENCODE TOKENIZER.json
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ENCODE, TOKENIZER = sys.argv[1:3]

DOCUMENT = ("The moon pulls at the oceans. The water rises and falls twice a day.\n"
            "Caf\u00e9s near the sea know it \U0001F30A. Fishers know it better.\n\n" * 20)


class Passages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="encode_passages_")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.output = self.path / "passages.jsonl"

    def write(self, *rows):
        path = self.path / "documents.jsonl"
        path.write_bytes(b"".join(row if isinstance(row, bytes) else json.dumps({"text": row}).encode() + b"\n"
                                  for row in rows))
        return path

    def tokenize(self, *words):
        return subprocess.run([ENCODE, "tokenize", "--tokenizer", TOKENIZER, "--input", self.path / "documents.jsonl",
                               "--field", "text", "--output", self.output, *words], capture_output=True, text=True)

    def passages(self, *words):
        end = self.tokenize(*words)
        self.assertEqual(end.returncode, 0, end.stderr)
        return [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]

    def test_offsets_lead_to_the_text(self):
        rows = [DOCUMENT, "", "One."]
        self.write(*rows)
        passages = self.passages("--passages", "max_tokens=48,overlap=16,by=sentence")
        self.assertGreater(len(passages), 10)
        numbers = {}
        for passage in passages:
            row, text = rows[passage["row"]], passage["text"]
            self.assertEqual(text, row[passage["char_begin"]:passage["char_end"]])
            self.assertEqual(text.encode(), row.encode()[passage["byte_begin"]:passage["byte_end"]])
            self.assertEqual(passage["passage"], numbers.get(passage["row"], 0))
            self.assertLessEqual(passage["tokens"], 48)
            self.assertEqual(passage["lost_tokens"], 0)
            numbers[passage["row"]] = passage["passage"] + 1
        self.assertEqual(sorted(numbers), [0, 1, 2])
        self.assertEqual((numbers[1], numbers[2]), (1, 1))

    def test_offsets_count_from_the_repaired_text(self):
        self.write(b'{"text": "' + b"\xff\xfe sentence. " * 40 + b'"}\n')
        repaired = "\ufffd\ufffd sentence. " * 40
        passages = self.passages("--passages", "max_tokens=48")
        self.assertGreater(len(passages), 1)
        for passage in passages:
            self.assertEqual(passage["text"], repaired[passage["char_begin"]:passage["char_end"]])
            self.assertEqual(passage["text"].encode(), repaired.encode()[passage["byte_begin"]:passage["byte_end"]])
        self.assertEqual("".join(passage["text"] for passage in passages), repaired)

    def test_a_passage_has_the_tokens_of_its_text_as_a_row(self):
        self.write(DOCUMENT)
        passages = self.passages("--passages", "max_tokens=32,by=token", "--prompt", "passage: ")
        self.write(*("passage: " + passage["text"] for passage in passages))
        self.output = self.path / "ids.jsonl"
        rows = self.passages()
        self.assertEqual([len(row["input_ids"]) for row in rows], [passage["tokens"] for passage in passages])

    def test_the_same_command_finds_its_output(self):
        self.write(DOCUMENT)
        self.passages("--passages", "max_tokens=48")
        self.assertIn("up to date", self.tokenize("--passages", "max_tokens=48").stdout)
        other = self.tokenize("--passages", "max_tokens=80")
        self.assertEqual(other.returncode, 73)
        self.assertIn("error[output.exists]", other.stderr)

    def test_the_report_counts_passages(self):
        self.write(DOCUMENT, DOCUMENT)
        end = self.tokenize("--passages", "max_tokens=48")
        self.assertIn("passages of 2 rows", end.stdout)
        self.assertIn("truncated at 48: 0 passages", end.stdout)

    def test_rules_that_mean_nothing_are_refused(self):
        self.write("a")
        for rule in ("", "max_tokens", "max_tokens=", "max_tokens=x", "max_tokens=0", "max_tokens=-1", "max_tokens=9,",
                     "max_tokens=9,max_tokens=9", "by=sentence", "max_tokens=9,by=word", "max_tokens=9,overlap=-1",
                     "max_tokens=9,size=3", "max_tokens=99999999999999999999"):
            end = self.tokenize("--passages", rule)
            self.assertEqual(end.returncode, 64, rule)
            self.assertIn("error[usage]", end.stderr)
            self.assertFalse(self.output.exists())

    # The overlap must leave room for new text, or the passages would never end.
    def test_an_overlap_without_room_for_new_text_is_refused(self):
        self.write("a")
        for rule in ("max_tokens=20,overlap=20", "max_tokens=20,overlap=18", "max_tokens=2"):
            end = self.tokenize("--passages", rule)
            self.assertEqual(end.returncode, 78, rule)
            self.assertIn("error[model.max_length]", end.stderr)
        self.passages("--passages", "max_tokens=20,overlap=17")

    def test_options_that_contradict_passages_are_refused(self):
        self.write("a")
        for words in (["--passages", "max_tokens=9", "--offsets"], ["--passages", "max_tokens=9", "--max-length", "8"],
                      ["--prompt", "query: "]):
            self.assertEqual(self.tokenize(*words).returncode, 64)

    def test_a_row_of_token_ids_is_refused(self):
        self.write(b'{"text": [1, 2]}\n')
        end = self.tokenize("--passages", "max_tokens=9")
        self.assertEqual(end.returncode, 65)
        self.assertIn("error[tokenize.input_ids]", end.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
