"""Tests passages that are encoded in their context (late chunking), with the real worker.

    passage_late_test.py ENCODE MODELS [MAKE_COLUMNAR]

MODELS is the folder tests/data/models. The expected vectors are means of the token vectors that a run with `--pooling none` gives for
the windows of a document, as docs/howto/passages.md defines them.
"""
import json
import os
import signal
import subprocess
import time
import unittest

import passages_run_test as base

ENCODE = base.ENCODE
LIMIT = 40  # the most tokens of a row of the model
MAX_TOKENS, OVERLAP = 8, 3
RULE = ("--passage-tokens", str(MAX_TOKENS), "--passage-overlap", str(OVERLAP), "--passage-vectors", "late")
PLACES = ("row", "passage", "byte_begin", "byte_end", "char_begin", "char_end", "tokens")
WIDTH = 64


class LatePassages(base.PassagesRun):
    def setUp(self):
        super().setUp()
        self.texts = list(base.DOCUMENTS)

    def tokenized(self, texts):
        """The ids of the whole texts, and for each token the last character that it comes from, or None."""
        self.write("whole.jsonl", texts)
        end = self.run_words(ENCODE, "tokenize", "--model", self.model, "--input", self.path / "whole.jsonl", "--field", "text",
                             "--no-truncation", "--offsets", "--output", self.path / "ids.jsonl", "--overwrite")
        self.assertEqual(end.returncode, 0, end.stderr)
        rows = [json.loads(line) for line in (self.path / "ids.jsonl").read_text().splitlines()]
        return [(row["input_ids"], [end - 1 if end > begin else None for begin, end in row["offsets"]]) for row in rows]

    def places(self, name):
        return [dict(zip(PLACES, place)) for place in base.npy(self.path / f"{name}.passages.npy", "q")]

    def token_vectors(self, windows):
        """The vectors of the tokens of each window."""
        (self.path / "windows.jsonl").write_text("".join(json.dumps({"input_ids": ids}) + "\n" for ids in windows))
        end = self.run_words(ENCODE, "run", "--model", self.model, "--input", self.path / "windows.jsonl", "--field", "input_ids",
                             "--pooling", "none", "--device", "cpu", "--output", self.path / "windows.npy", "--overwrite", "--quiet")
        self.assertEqual(end.returncode, 0, end.stderr)
        vectors = base.npy(self.path / "windows.npy", "f")
        offsets = [offset for (offset,) in base.npy(self.path / "windows.offsets.npy", "q")]
        return [vectors[begin:end] for begin, end in zip(offsets, offsets[1:])]

    def expected(self, name, before="", after=""):
        """The windows, and for each passage its window and its tokens there."""
        tokenized = self.tokenized([before + text + after for text in self.texts])
        windows, spans = {}, []
        step = LIMIT - MAX_TOKENS
        for place in self.places(name):
            ids, last = tokenized[place["row"]]
            own = [i for i, char in enumerate(last) if char is not None
                   and place["char_begin"] <= char - len(before) < place["char_end"]][:MAX_TOKENS]
            number = 0
            while own and number * step + LIMIT <= own[-1]:
                number += 1
            window = (place["row"], number)
            windows[window] = ids[number * step:number * step + LIMIT]
            spans.append((window, [i - number * step for i in own] or list(range(len(windows[window])))))
        return windows, spans

    def assert_vectors(self, name, **frame):
        windows, spans = self.expected(name, **frame)
        tokens = dict(zip(windows, self.token_vectors(list(windows.values()))))
        found = base.npy(self.path / f"{name}.npy", "f")
        self.assertEqual(len(found), len(spans))
        for vector, (window, span), place in zip(found, spans, self.places(name)):
            self.assertEqual(place["tokens"], len(span))
            mean = [sum(tokens[window][i][d] for i in span) / len(span) for d in range(WIDTH)]
            self.assertLess(max(abs(a - b) for a, b in zip(vector, mean)), 1e-6, place)
        return windows

    def test_vectors_are_means_over_the_tokens_of_a_passage_in_its_window(self):
        self.encode("out", *RULE)
        windows = self.assert_vectors("out")
        self.assertGreater(len(windows), 3 * len(self.texts))
        self.assertEqual(self.verify("out").returncode, 0)
        alone = "max_tokens=8,overlap=3,vectors=late"
        self.assertEqual([tuple(passage[key] for key in PLACES) for passage in self.cut(rule=alone)],
                         [tuple(place.values()) for place in self.places("out")])

    def test_passages_cover_the_text_and_keep_within_their_tokens(self):
        for unit in ("sentence", "paragraph", "token"):
            self.encode(unit, *RULE, "--passages-by", unit)
            self.assert_vectors(unit)
            ends = {}
            for place in self.places(unit):
                self.assertLessEqual(place["tokens"], MAX_TOKENS if self.texts[place["row"]].strip() else LIMIT)
                self.assertLessEqual(place["byte_begin"], ends.get(place["row"], 0))
                self.assertGreaterEqual(place["byte_end"], ends.get(place["row"], 0))
                ends[place["row"]] = place["byte_end"]
            self.assertEqual(ends, {row: len(text.encode()) for row, text in enumerate(self.texts)})

    def test_the_prompt_stands_once_before_the_text(self):
        self.encode("out", *RULE, "--prompt", "find: ")
        self.assert_vectors("out", before="find: ")

    def test_the_template_stands_once_around_its_field(self):
        words = [word if word != "--field" else "--text" for word in self.arguments("out", *RULE, "--passage-field", "text")]
        end = self.run_words(*[word if word != "text" or words[i - 1] != "--text" else "t: moon | {text} end"
                               for i, word in enumerate(words)])
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assert_vectors("out", before="t: moon | ", after=" end")

    def test_a_document_of_one_passage_without_special_tokens_is_the_row(self):
        self.texts = ["moon", "the sea rises", "a b c d e f g h"]
        self.write("documents.jsonl", self.texts)
        self.encode("out", *RULE)
        self.assertEqual([place["tokens"] for place in self.places("out")][0], 4)
        self.assert_vectors("out")

    def test_bits_do_not_depend_on_batches_chunks_or_the_cache(self):
        self.encode("out", *RULE)
        cache = self.path / "vectors"
        for number, words in enumerate((("--chunk-size", "1"), ("--chunk-size", "7"), ("--batch-tokens", "41"),
                                        ("--embedding-cache", cache), ("--embedding-cache", cache))):
            name = f"other{number}"
            self.encode(name, *RULE, *words)
            self.assert_same("out", name)

    def test_the_cache_keeps_spans_apart(self):
        cache = ("--embedding-cache", self.path / "vectors")
        self.texts = ["The moon pulls the sea. It rises."] * 3
        self.write("documents.jsonl", self.texts)
        self.encode("first", *RULE, *cache)
        for name, rule in (("alone", ("--passage-tokens", "40")), ("finer", ("--passage-tokens", "3", "--passage-vectors", "late"))):
            self.encode(name, *rule)
            self.encode(name + "_cached", *rule, *cache)
            self.assert_same(name, name + "_cached")

    def test_a_killed_run_keeps_its_chunks_and_gives_the_same_bytes(self):
        self.write("documents.jsonl", self.texts * 40)
        self.encode("whole", *RULE)
        words = self.arguments("out", *RULE, "--chunk-size", "100", "--cache-dir", self.path / "cache")
        run = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
        chunks = self.path / "cache"
        deadline = time.monotonic() + 60
        while run.poll() is None and time.monotonic() < deadline and len(list(chunks.glob("**/*.npy"))) < 3:
            time.sleep(0.01)
        self.assertIsNone(run.poll(), "the run has ended before it was killed")
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        self.encode("out", *RULE, "--chunk-size", "100", "--cache-dir", self.path / "cache")
        self.assert_same("whole", "out")

    def test_vectors_are_normalized_one_by_one(self):
        self.encode("out", *RULE)
        self.encode("unit", *RULE, "--normalize")
        for vector, unit in zip(base.npy(self.path / "out.npy", "f"), base.npy(self.path / "unit.npy", "f")):
            norm = sum(x * x for x in vector) ** 0.5
            self.assertLess(max(abs(a / norm - b) for a, b in zip(vector, unit)), 1e-6)

    def test_the_row_vector_is_the_mean_of_the_passages(self):
        self.encode("out", *RULE)
        self.encode("mean", *RULE, "--row-vector", "mean")
        vectors = base.npy(self.path / "out.npy", "f")
        sums = [[0.0] * WIDTH for _ in self.texts]
        for place, vector in zip(self.places("out"), vectors):
            sums[place["row"]] = [a + b for a, b in zip(sums[place["row"]], vector)]
        for total, mean in zip(sums, base.npy(self.path / "mean.npy", "f")):
            norm = sum(x * x for x in total) ** 0.5
            self.assertLess(max(abs(a / norm - b) for a, b in zip(total, mean)), 1e-6)

    def test_a_character_above_the_limit_is_cut_and_listed(self):
        self.texts = ["!\u0301", "moon"]  # the first one is a single cluster of two tokens
        self.write("documents.jsonl", self.texts)
        self.encode("out", "--passage-tokens", "1", "--passage-vectors", "late")
        self.assertEqual([place["tokens"] for place in self.places("out")], [1, 1, 1, 1, 1])
        ledger = [json.loads(line) for line in (self.path / "out.truncated.jsonl").read_text().splitlines()]
        self.assertEqual(ledger, [{"row": 0, "tokens": 1, "lost_tokens": 1}])

    def test_rules_that_have_no_windows_are_refused(self):
        late = ("--passage-vectors", "late")
        for words, code, exit_code in (((*late, "--passage-tokens", "21"), "model.max_length", 78),
                                       ((*late, "--passages-by", "sentence", "--passage-overlap", "20"), "model.max_length", 78),
                                       ((*RULE, "--pooling", "cls"), "model.pooling", 78),
                                       (late, "config.conflict", 64)):
            end = self.run_words(*self.arguments("out", *words))
            self.assertEqual(end.returncode, exit_code, end.stderr)
            self.assertIn(f"error[{code}]", end.stderr)

    def test_plan_and_preflight_know_windows(self):
        self.texts = [text for text in self.texts if text.strip()]
        self.write("documents.jsonl", self.texts)
        self.encode("out", *RULE)
        passages = len(self.places("out"))
        inputs = ("--model", self.model, "--input", self.path / "documents.jsonl", "--field", "text", "--device", "cpu", *RULE)
        plan = self.run_words(ENCODE, "plan", *inputs, "--json")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn(f'"passages":{passages}', plan.stdout.replace(" ", ""))
        windows, _ = self.expected("out")
        tokens = sum(len(ids) for ids in windows.values())
        self.assertIn(f'"tokens":{tokens}', plan.stdout.replace(" ", ""))
        preflight = self.run_words(ENCODE, "preflight", *inputs, "--output", self.path / "other.npy", "--verbose")
        self.assertIn(f"{passages:,} passages", preflight.stdout)

    def test_shards_give_the_bytes_of_one_run(self):
        config = self.path / "config.yaml"
        config.write_text(
            f"semantic: {{model: {self.model}, cache_dir: {self.path}/cache,\n"
            f"           passages: {{max_tokens: {MAX_TOKENS}, overlap: {OVERLAP}, vectors: late}}}}\n"
            f"input: {{file: {self.path}/documents.jsonl, field: text}}\n"
            f"output: {{file: {self.path}/out.npy, parts: one}}\n")
        self.encode("whole", *RULE)
        for words in (("shards", "plan", "--shards", "3"), ("run", "--shard", "0/3"), ("run", "--shard", "1/3"),
                      ("run", "--shard", "2/3"), ("merge",)):
            end = self.run_words(ENCODE, *words, "--config", config, "--log-level", "warning")
            self.assertEqual(end.returncode, 0, end.stderr)
        self.assert_same("whole", "out")


if __name__ == "__main__":
    unittest.main(argv=["passage_late_test.py"])
