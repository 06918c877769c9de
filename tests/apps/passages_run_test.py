"""Tests runs that cut their texts into passages, with the real worker. MODELS is the folder tests/data/models.

    passages_run_test.py ENCODE MODELS
"""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ENCODE, MODELS = sys.argv[1:3]
RULE = ("--passage-tokens", "12", "--passage-overlap", "4", "--passages-by", "sentence")
RULE_OF_TOKENIZE = "max_tokens=12,overlap=4,by=sentence"
SENTENCE = "The moon pulls. The sea rises and falls twice a day! Caf\u00e9s know it \U0001F30A. So?\n\n"
DOCUMENTS = [SENTENCE * (1 + row % 5) + "bcdefghijk"[row % 10] * (row % 7) for row in range(60)]
DOCUMENTS[3] = ""
DOCUMENTS[17] = "   "


def write_tokenizer(path):
    """A WordPiece tokenizer with a token for each letter, as the tiny models of the tests have 128 tokens."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    for letter in "abcdefghijklmnopqrstuvwxyz":
        words += [letter, "##" + letter]
    path.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": None,
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {word: i for i, word in enumerate(words)}}}))


def npy(path, kind):
    """Returns the rows of a .npy matrix of little-endian numbers."""
    content = path.read_bytes()
    shape = content[:128].split(b"'shape': (")[1].split(b")")[0].decode().strip(",").split(", ")
    columns = int(shape[1]) if len(shape) > 1 else 1
    numbers = [number for (number,) in struct.iter_unpack("<" + kind, content[128:])]
    return [tuple(numbers[i:i + columns]) for i in range(0, len(numbers), columns)]


class PassagesRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="encode_passages_run_")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.model = self.path / "model"
        shutil.copytree(pathlib.Path(MODELS) / "bert", self.model)
        write_tokenizer(self.model / "tokenizer.json")
        (self.model / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
        self.write("documents.jsonl", DOCUMENTS)

    def write(self, name, texts):
        (self.path / name).write_bytes(b"".join(text if isinstance(text, bytes) else json.dumps({"text": text}).encode() + b"\n"
                                                for text in texts))

    def arguments(self, name, *words, texts="documents.jsonl"):
        return [ENCODE, "run", "--model", self.model, "--input", self.path / texts, "--field", "text", "--device", "cpu",
                "--output", self.path / f"{name}.npy", "--quiet", *words]

    def run_words(self, *words):
        return subprocess.run(words, capture_output=True, text=True)

    def encode(self, name, *words, texts="documents.jsonl", but_not=None):
        end = self.run_words(*[word for word in self.arguments(name, *words, texts=texts) if word != but_not])
        self.assertEqual(end.returncode, 0, end.stderr)
        return end

    def cut(self, *words, rule=RULE_OF_TOKENIZE, texts="documents.jsonl"):
        """What `encode tokenize --passages` finds: the passages of the documents."""
        end = self.run_words(ENCODE, "tokenize", "--model", self.model, "--input", self.path / texts, "--field", "text",
                             "--passages", rule, "--output", self.path / "cut.jsonl", "--overwrite", *words)
        self.assertEqual(end.returncode, 0, end.stderr)
        return [json.loads(line) for line in (self.path / "cut.jsonl").read_text(encoding="utf-8").splitlines()]

    def files(self, name):
        """The bytes of everything that a matrix consists of, apart from its manifest."""
        return {suffix: (self.path / f"{name}{suffix}").read_bytes() for suffix in (".npy", ".offsets.npy", ".passages.npy")}

    def verify(self, name):
        return self.run_words(ENCODE, "verify", self.path / f"{name}.npy")

    def assert_same(self, name, other):
        for suffix, content in self.files(name).items():
            self.assertTrue(content == (self.path / f"{other}{suffix}").read_bytes(), suffix)


class Vectors(PassagesRun):
    def assert_rows_of(self, name, *options, tokenize=(), rule=RULE_OF_TOKENIZE):
        """The matrix has the passages that tokenize finds, and their vectors as rows of their own, to the bit."""
        cut = self.cut(*tokenize, rule=rule)
        places = npy(self.path / f"{name}.passages.npy", "q")
        keys = ("row", "passage", "byte_begin", "byte_end", "char_begin", "char_end", "tokens")
        self.assertEqual(places, [tuple(passage[key] for key in keys) for passage in cut])
        self.encode(name + "_rows", *options, texts="cut.jsonl")
        self.assertTrue((self.path / f"{name}.npy").read_bytes() == (self.path / f"{name}_rows.npy").read_bytes())
        return cut

    def test_are_those_of_their_texts_as_rows(self):
        self.encode("out", *RULE)
        cut = self.assert_rows_of("out")
        self.assertGreater(len(cut), 3 * len(DOCUMENTS))
        self.assertEqual(self.verify("out").returncode, 0)
        offsets = [offset for (offset,) in npy(self.path / "out.offsets.npy", "q")]
        self.assertEqual(offsets, [sum(passage["row"] < row for passage in cut) for row in range(len(DOCUMENTS) + 1)])

    def test_have_the_prompt_and_the_options_of_the_run(self):
        options = ("--prompt", "find: ", "--normalize", "--vector-precision", "float16")
        self.encode("out", "--passage-tokens", "24", "--passages-by", "token", *options)
        self.assert_rows_of("out", *options, tokenize=("--prompt", "find: "), rule="max_tokens=24,by=token")

    def test_by_alone_cuts_at_the_limit_of_the_model(self):
        self.write("documents.jsonl", [SENTENCE * 40, "short"])
        self.encode("out", "--passages-by", "paragraph")
        self.assert_rows_of("out", rule="by=paragraph")

    def test_without_passages_a_row_has_one_vector(self):
        self.encode("plain")
        self.assertEqual(len(npy(self.path / "plain.npy", "f")), len(DOCUMENTS))
        self.assertFalse((self.path / "plain.passages.npy").exists())
        self.assertFalse((self.path / "plain.offsets.npy").exists())

    def test_places_lead_to_the_repaired_text(self):
        bad = b'{"text": "' + b"\xff\xfe moon. A\xcc\x81 sea. " * 8 + b'"}\n'
        self.write("documents.jsonl", [bad, "", "One."])
        self.encode("out", *RULE)
        repaired = ["\ufffd\ufffd moon. A\u0301 sea. " * 8, "", "One."]
        cut = self.assert_rows_of("out")
        for row, _, byte_begin, byte_end, char_begin, char_end, _ in npy(self.path / "out.passages.npy", "q"):
            self.assertEqual(repaired[row].encode()[byte_begin:byte_end].decode(), repaired[row][char_begin:char_end])
        self.assertEqual([passage["text"] for passage in cut if passage["row"] == 1], [""])
        self.assertEqual(cut[-1]["text"], "One.")

    def test_a_character_above_the_limit_is_cut_and_listed_once_for_its_row(self):
        self.write("documents.jsonl", ["a", "b" + "\u0301" * 40 + " c" + "\u0301" * 40, "d"])
        tokenizer = json.loads((self.model / "tokenizer.json").read_text())
        vocab = tokenizer["model"]["vocab"]
        vocab.update({"\u0301": len(vocab), "##\u0301": len(vocab) + 1})
        tokenizer["model"]["max_input_chars_per_word"] = 1000
        (self.model / "tokenizer.json").write_text(json.dumps(tokenizer))
        end = self.encode("out", *RULE, but_not="--quiet")
        ledger = [json.loads(line) for line in (self.path / "out.truncated.jsonl").read_text().splitlines()]
        passages = [passage for passage in self.cut() if passage["row"] == 1]
        self.assertGreater(len(passages), 1)
        self.assertEqual(ledger, [{"row": 1, "tokens": sum(passage["tokens"] for passage in passages),
                                   "lost_tokens": sum(passage["lost_tokens"] for passage in passages)}])
        self.assertIn("character", end.stderr + end.stdout)
        self.assertIn("--passage-tokens", end.stderr + end.stdout)
        self.assertEqual(self.verify("out").returncode, 0)

    def test_the_embedding_cache_knows_passages_and_rows_with_the_same_tokens(self):
        cache = ("--embedding-cache", self.path / "cache")
        self.encode("cold", *RULE, *cache)
        self.encode("warm", *RULE[:4], "--passages-by", "token", *cache)
        self.encode("alone", *RULE[:4], "--passages-by", "token")
        self.assert_same("warm", "alone")


class Chunks(PassagesRun):
    def test_give_the_same_bytes_at_every_size(self):
        self.encode("whole", *RULE, "--standard")
        for size in (1, 7, 1000):
            self.encode(f"of{size}", *RULE, "--chunk-size", str(size))
            self.assert_same("whole", f"of{size}")

    def test_of_a_killed_run_are_kept_and_give_the_same_bytes(self):
        self.write("documents.jsonl", DOCUMENTS * 20)
        self.encode("whole", *RULE)
        for size in (9, 40):
            name = f"killed{size}"
            words = self.arguments(name, *RULE, "--chunk-size", str(size))
            log = self.path / f".{name}.npy.cache" / f"{name}_chunks" / "chunks.log"
            for lines in (1, 6):
                run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
                while run.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") >= lines):
                    time.sleep(0.005)
                if run.poll() is None:
                    os.killpg(run.pid, signal.SIGKILL)
                run.wait()
            kept = log.read_bytes().count(b"\n") if log.exists() else 0
            self.encode(name, *RULE, "--chunk-size", str(size))
            self.assertGreater(kept, 0)
            self.assert_same("whole", name)

    def test_with_a_flipped_byte_are_encoded_again(self):
        self.encode("good", *RULE)
        for part in ("passages", "offsets"):
            words = ("--chunk-size", "10", "--keep-chunks", "--cache-dir", self.path / part, *RULE)
            self.encode(part, *words)
            path = next((self.path / part).glob(f"*_chunks/chunk_0002.{part}.npy"))
            content = bytearray(path.read_bytes())
            content[-20] ^= 1
            path.write_bytes(content)
            self.assertEqual(self.run_words(ENCODE, "verify", self.path / f"{part}.npy").returncode, 0)
            for suffix in (".npy", ".npy.manifest.json", ".offsets.npy", ".passages.npy"):
                (self.path / f"{part}{suffix}").unlink()
            end = self.encode(part, *words, but_not="--quiet")
            self.assertIn("chunk_0002", end.stderr + end.stdout)
            self.assertIn("damaged", end.stderr + end.stdout)
            self.assert_same("good", part)

    def test_of_another_rule_are_refused(self):
        words = ("--keep-chunks", "--cache-dir", self.path / "cache")
        self.encode("out", *RULE, *words)
        for other in (("--passage-tokens", "13", *RULE[2:]), ("--passage-overlap", "3", *RULE[:2], *RULE[4:]),
                      (*RULE[:4], "--passages-by", "token"), ()):
            end = self.run_words(*self.arguments("out", *other, *words))
            self.assertEqual(end.returncode, 78, other)
            self.assertIn("passages", end.stderr)


class Damage(PassagesRun):
    def test_of_the_places_is_found(self):
        self.encode("out", *RULE)
        self.assertEqual(self.verify("out").returncode, 0)
        path = self.path / "out.passages.npy"
        good = path.read_bytes()
        for place in (10, 130, len(good) - 1):
            path.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1:])
            end = self.verify("out")
            self.assertEqual(end.returncode, 65, place)
            self.assertIn("passages", end.stdout)
        path.unlink()
        self.assertEqual(self.verify("out").returncode, 65)
        path.write_bytes(good)
        self.assertEqual(self.verify("out").returncode, 0)


class SetAside(PassagesRun):
    """The letter q has no finite vector."""

    def setUp(self):
        super().setUp()
        self.write_broken_letter()

    def write_broken_letter(self):
        weights = self.model / "model.safetensors"
        content = bytearray(weights.read_bytes())
        size = struct.unpack("<Q", content[:8])[0]
        info = json.loads(content[8:8 + size])
        name = next(key for key in info if key.endswith("word_embeddings.weight"))
        width = info[name]["shape"][1]
        letters = json.loads((self.model / "tokenizer.json").read_text())["model"]["vocab"]
        begin = 8 + size + info[name]["data_offsets"][0] + letters["q"] * width * 4
        content[begin:begin + 4] = struct.pack("<f", float("inf"))
        weights.write_bytes(content)
        self.bad = list(DOCUMENTS)
        self.bad[8] = SENTENCE * 3 + "q. " + SENTENCE
        self.bad[41] = "q"
        self.write("documents.jsonl", self.bad)
        self.write("good.jsonl", [text for row, text in enumerate(DOCUMENTS) if row not in (8, 41)])

    def test_is_a_whole_row(self):
        end = self.run_words(*self.arguments("out", *RULE))
        self.assertEqual(end.returncode, 65)
        self.assertIn("run.rows_set_aside", end.stderr)
        for size in (5, 60):
            name = f"zeros{size}"
            self.encode(name, *RULE, "--quarantine", "zeros", "--chunk-size", str(size))
            offsets = [offset for (offset,) in npy(self.path / f"{name}.offsets.npy", "q")]
            self.assertEqual([row for row in range(60) if offsets[row] == offsets[row + 1]], [8, 41])
            listed = [json.loads(line)["row"] for line in (self.path / f"{name}.set_aside.jsonl").read_text().splitlines()]
            self.assertEqual(listed, [8, 41])
            rows = {place[0] for place in npy(self.path / f"{name}.passages.npy", "q")}
            self.assertEqual(rows, set(range(60)) - {8, 41})
            self.assertEqual(self.verify(name).returncode, 0)
            self.encode("good", *RULE, texts="good.jsonl")
            self.assertTrue((self.path / f"{name}.npy").read_bytes() == (self.path / "good.npy").read_bytes())
            self.assertEqual(sum(place[6] for place in npy(self.path / f"{name}.passages.npy", "q")),
                             json.loads((self.path / f"{name}.npy.manifest.json").read_text())["stats"]["tokens"])

    def test_cannot_be_dropped(self):
        end = self.run_words(*self.arguments("out", *RULE, "--quarantine", "drop"))
        self.assertEqual(end.returncode, 78)
        self.assertIn("config.quarantine", end.stderr)
        self.encode("mean", *RULE, "--row-vector", "mean", "--quarantine", "drop")
        self.assertEqual(len(npy(self.path / "mean.npy", "f")), 58)


class Mean(PassagesRun):
    def test_is_the_mean_of_the_passages_scaled_to_length_1(self):
        self.encode("parts", *RULE)
        places = npy(self.path / "parts.passages.npy", "q")
        vectors = npy(self.path / "parts.npy", "f")
        for size in (7, 1000):
            name = f"mean{size}"
            self.encode(name, *RULE, "--row-vector", "mean", "--chunk-size", str(size))
            rows = npy(self.path / f"{name}.npy", "f")
            self.assertEqual(len(rows), len(DOCUMENTS))
            self.assertFalse((self.path / f"{name}.passages.npy").exists())
            self.assertFalse((self.path / f"{name}.offsets.npy").exists())
            for row, found in enumerate(rows):
                own = [vector for place, vector in zip(places, vectors) if place[0] == row]
                sums = [sum(values) for values in zip(*own)]
                norm = sum(value * value for value in sums) ** 0.5
                for value, expected in zip(found, sums):
                    self.assertAlmostEqual(value, expected / norm, delta=1e-6)
            self.assertEqual(self.verify(name).returncode, 0)
        self.assertTrue((self.path / "mean7.npy").read_bytes() == (self.path / "mean1000.npy").read_bytes())


class Refused(PassagesRun):
    def assert_refused(self, code, exit_code, *words, texts="documents.jsonl"):
        end = self.run_words(*self.arguments("out", *words, texts=texts))
        self.assertEqual(end.returncode, exit_code, end.stderr)
        self.assertIn(f"error[{code}]", end.stderr)
        self.assertFalse((self.path / "out.npy").exists())

    def test_are_settings_without_passages(self):
        self.assert_refused("config.conflict", 64, "--passage-overlap", "3")
        self.assert_refused("config.conflict", 64, "--row-vector", "mean")

    def test_are_rules_that_cannot_cut(self):
        self.assert_refused("config.conflict", 64, "--passage-tokens", "9", "--passage-overlap", "9")
        self.assert_refused("model.max_length", 78, "--passage-tokens", "9", "--passage-overlap", "7")
        self.assert_refused("model.max_length", 78, "--passage-tokens", "100000")
        self.assert_refused("config.conflict", 64, *RULE, "--pooling", "none")

    def test_are_rows_of_token_ids(self):
        self.write("ids.jsonl", [b'{"text": [4, 7]}\n'])
        self.assert_refused("tokenize.input_ids", 65, *RULE, texts="ids.jsonl")

    def test_are_combined_streams_whose_rows_have_several_vectors(self):
        config = self.path / "config.yaml"
        text = (f"semantic: {{model: {self.model}, cache_dir: {self.path}/cache, passages: {{max_tokens: 12}}}}\n"
                f"data: {{splits: {{train: {{a: {{file: {self.path}/documents.jsonl, field: text}},\n"
                f"                         b: {{file: {self.path}/documents.jsonl, field: text}}}}}}}}\n"
                "output: {combine: [a, b]}\n")
        config.write_text(text)
        end = self.run_words(ENCODE, "run", "--config", config)
        self.assertEqual(end.returncode, 78)
        self.assertIn("error[config.conflict]", end.stderr)
        self.assertIn("config.yaml:4", end.stderr)
        end = self.run_words(ENCODE, "run", "--config", config, "--row-vector", "mean", "--quiet", "--device", "cpu")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertTrue((self.path / "cache/train_combined_embeddings.npy").exists())


class Commands(PassagesRun):
    def test_search_shows_the_passage(self):
        self.write("documents.jsonl", ["", "The sea rises. The moon pulls.", "Yeast eats sugar. Gas makes bread rise."])
        self.encode("out", "--passage-tokens", "16")
        cut = self.cut(rule="max_tokens=16")
        end = self.run_words(ENCODE, "search", self.path / "out.npy", "the moon pulls", "-k", "9", "--device", "cpu", "--json")
        self.assertEqual(end.returncode, 0, end.stderr)
        hits = json.loads(end.stdout)["hits"]
        self.assertEqual(len(hits), len(cut) - 1)  # without the empty row
        for hit in hits:
            passage = cut[hit["row"]]
            self.assertEqual((hit["text"], hit["input_row"], hit["passage"], hit["char_begin"], hit["byte_end"]),
                             (passage["text"], passage["row"], passage["passage"], passage["char_begin"], passage["byte_end"]))
        end = self.run_words(ENCODE, "search", self.path / "out.npy", "the moon pulls", "--device", "cpu")
        self.assertIn("source_row", end.stdout)

    def test_plan_preflight_and_report_know_passages(self):
        cut = self.cut()
        end = self.encode("out", *RULE, but_not="--quiet")
        self.assertIn(f"out: {len(cut):,} passages of 60 rows", end.stdout)
        inputs = ("--model", self.model, "--input", self.path / "documents.jsonl", "--field", "text", "--device", "cpu", *RULE)
        plan = self.run_words(ENCODE, "plan", *inputs, "--json")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn(f'"passages":{len(cut)}', plan.stdout.replace(" ", ""))
        preflight = self.run_words(ENCODE, "preflight", *inputs, "--output", self.path / "other.npy")
        self.assertIn("passages", preflight.stdout)
        report = self.run_words(ENCODE, "report", self.path / "out.npy", "--output", self.path / "report.html")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn(f'"passages":{len(cut)}', (self.path / "report.html").read_text().replace(" ", ""))

    def test_shards_give_the_bytes_of_one_run(self):
        config = self.path / "config.yaml"
        config.write_text(
            f"semantic: {{model: {self.model}, cache_dir: {self.path}/cache,\n"
            "           passages: {max_tokens: 12, overlap: 4, by: sentence}}\n"
            f"input: {{file: {self.path}/documents.jsonl, field: text}}\n"
            f"output: {{file: {self.path}/out.npy}}\n")
        self.encode("whole", *RULE)
        for words in (("shards", "plan", "--shards", "3"), ("run", "--shard", "0/3"), ("run", "--shard", "1/3"),
                      ("run", "--shard", "2/3"), ("merge",)):
            end = self.run_words(ENCODE, *words, "--config", config, "--log-level", "warning")
            self.assertEqual(end.returncode, 0, end.stderr)
        end = self.run_words(ENCODE, "verify", self.path / "out.parts.json")
        self.assertEqual(end.returncode, 0, end.stdout)
        search = [self.run_words(ENCODE, "search", self.path / name, "the moon", "--device", "cpu", "--json").stdout
                  for name in ("whole.npy", "out.parts.json")]
        self.assertEqual(*(json.loads(found)["hits"] for found in search))
        end = self.run_words(ENCODE, "merge", "--config", config, "--log-level", "warning", "--parts", "one")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assert_same("whole", "out")
        self.assertEqual(self.verify("out").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
