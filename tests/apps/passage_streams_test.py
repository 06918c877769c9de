"""Tests passages of some streams of a run, and tables of passages in shards, with the real worker.

    passage_streams_test.py ENCODE MODELS [MAKE_COLUMNAR]

The arguments are those of passage_fields_test.py. Without MAKE_COLUMNAR, tables are left out.
"""
import json
import sys
import unittest

import passages_run_test as base
from passage_fields_test import ENCODE, MAKE_COLUMNAR, RECORDS, RULE, TEMPLATE, PassageFields, text


class Streams(PassageFields):
    def config(self, semantic, docs, output=""):
        self.write_records("q.jsonl", [{"text": f"the moon pulls {row}"} for row in range(len(RECORDS))])
        path = self.path / "config.yaml"
        path.write_text(
            f"semantic: {{model: {self.model}, cache_dir: {self.path}/cache{semantic}}}\n"
            f"data:\n  streams:\n    docs: {{text: '{TEMPLATE}', missing_field: empty{docs}}}\n"
            "    queries: {field: text, passages: none}\n"
            f"  splits: {{s: {{docs: {self.path}/in.jsonl, queries: {self.path}/q.jsonl}}}}\n{output}")
        return self.run_words(ENCODE, "run", "--config", path, "--device", "cpu", "--quiet", "--fresh")

    def assert_streams(self, *rule):
        self.encode_fields("alone", *rule)
        for suffix in (".npy", ".passages.npy", ".offsets.npy"):
            self.assertTrue((self.path / f"alone{suffix}").read_bytes() ==
                            (self.path / f"cache/s_docs_embeddings{suffix}").read_bytes(), suffix)
        self.assertEqual(len(base.npy(self.path / "cache/s_queries_embeddings.npy", "f")), len(RECORDS))
        self.assertFalse((self.path / "cache/s_queries_embeddings.passages.npy").exists())
        end = self.run_words(ENCODE, "verify", "--config", self.path / "config.yaml")
        self.assertEqual(end.returncode, 0, end.stdout)

    def test_have_rules_of_their_own(self):
        end = self.config("", ", passages: {max_tokens: 40, overlap: 4, field: body}")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assert_streams(*RULE)

    def test_override_the_rule_of_all(self):
        end = self.config(", passages: {max_tokens: 30, overlap: 4, field: body}", ", passages: {max_tokens: 40}")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assert_streams(*RULE)

    def test_are_combined_only_if_a_row_has_one_vector(self):
        combine = "output: {combine: [docs, queries]}\n"
        end = self.config("", ", passages: {max_tokens: 40, field: body}", combine)
        self.assertEqual(end.returncode, 78)
        self.assertIn("s_docs", end.stderr)
        end = self.config("", ", passages: {max_tokens: 40, field: body, row_vector: mean}", combine)
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertEqual(len(base.npy(self.path / "cache/s_combined_embeddings.npy", "f")), len(RECORDS))

    def test_are_no_tables_if_only_some_are_cut(self):
        end = self.config("", ", passages: {max_tokens: 40, field: body}", "output: {format: parquet}\n")
        self.assertEqual(end.returncode, 78)
        self.assertIn("s_queries", end.stderr)


@unittest.skipUnless(MAKE_COLUMNAR, "needs Arrow C++")
class Tables(PassageFields):
    """The parts of a sharded table have the rows of the table of one run."""

    def setUp(self):
        super().setUp()
        self.records = [{**record, "title": text(record["title"]), "body": text(record["body"])} for record in RECORDS]
        self.records[2]["title"] = "word " * 60  # the last row of a shard is set aside
        self.records[11]["title"] = "word " * 60
        self.write_records("in.jsonl", self.records)

    def rows_of(self, *paths):
        """The tokens of all columns of tables, row by row."""
        rows = []
        columns = ("source_row", "passage", "byte_begin", "byte_end", "char_begin", "char_end", "row", "text", "title")
        for path in paths:
            end = self.run_words(ENCODE, "tokenize", "--model", self.model, "--input", path, "--text",
                                 "|".join("{" + column + "}" for column in columns), "--no-truncation", "--no-lost-count",
                                 "--output", self.path / "ids.jsonl", "--overwrite")
            self.assertEqual(end.returncode, 0, end.stderr)
            rows += [json.loads(line)["input_ids"] for line in (self.path / "ids.jsonl").read_text().splitlines()]
        return rows

    def config(self, name, suffix, dtype, where=""):
        path = self.path / f"{name}.yaml"
        path.write_text(
            f"semantic: {{model: {self.model}, cache_dir: {self.path}/{name}_cache, quarantine: zeros, output_dtype: {dtype},\n"
            "           passages: {max_tokens: 40, overlap: 4, field: body}}\n"
            f"input: {{file: {self.path}/in.jsonl, text: '{TEMPLATE}', missing_field: empty, where: '{where}'}}\n"
            f"output: {{file: {self.path}/{name}.{suffix}, columns: [row, text, title]}}\n")
        return path

    def test_of_shards(self):
        for suffix, dtype, where in (("parquet", "float32", ""), ("arrow", "int8", ""), ("parquet", "uint8", 'title != "row 13"')):
            name = f"{suffix}_{dtype}"
            one = self.run_words(ENCODE, "run", "--config", self.config(name + "_one", suffix, dtype, where), "--device", "cpu",
                                 "--quiet")
            self.assertEqual(one.returncode, 0, one.stderr)
            config = self.config(name, suffix, dtype, where)
            for words in (("shards", "plan", "--shards", "3"), ("run", "--shard", "0/3"), ("run", "--shard", "1/3"),
                          ("run", "--shard", "2/3"), ("merge",)):
                end = self.run_words(ENCODE, *words, "--config", config, "--log-level", "warning")
                self.assertEqual(end.returncode, 0, end.stderr)
            parts = sorted(self.path.glob(f"{name}-*-of-*.{suffix}"))
            self.assertEqual(len(parts), 3)
            whole = self.rows_of(self.path / f"{name}_one.{suffix}")
            self.assertGreater(len(whole), 100)
            self.assertEqual(self.rows_of(*parts), whole, name)
            end = self.run_words(ENCODE, "verify", self.path / f"{name}.parts.json")
            self.assertEqual(end.returncode, 0, end.stdout)
            found = [self.run_words(ENCODE, "search", self.path / path, "the moon", "--device", "cpu", "--json")
                     for path in (f"{name}_one.{suffix}", f"{name}.parts.json")]
            self.assertEqual(*([(hit["row"], hit["text"], hit["score"]) for hit in json.loads(end.stdout)["hits"]] for end in found))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
