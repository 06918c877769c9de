"""Reads the passages of a run with encode_reader and with pyarrow.

    passages_test.py [PATH_OF_ENCODE]
"""
import pathlib
import sys

import environment

environment.enter()

import pyarrow.ipc  # noqa: E402
import pyarrow.parquet  # noqa: E402
from encode_reader import PASSAGE_COLUMNS, Damaged, open_chunks, open_final, read_batches  # noqa: E402

sys.argv = [sys.argv[0], environment.ENCODE, str(environment.ROOT / "tests/data/models")]
sys.path.insert(0, str(environment.ROOT / "tests/apps"))

import passages_run_test  # noqa: E402
from passages_run_test import DOCUMENTS, RULE, unittest  # noqa: E402

PLACES = ["source_row", "passage", "byte_begin", "byte_end", "char_begin", "char_end"]


class Tables(passages_run_test.PassagesRun):
    def table(self, name, *words):
        """Encodes the documents to a table and returns it."""
        words = [str(word).replace("/out.npy", f"/{name}") for word in self.arguments("out", *words)]
        end = self.run_words(*words)
        self.assertEqual(end.returncode, 0, end.stderr)
        path = self.path / name
        return pyarrow.parquet.read_table(path) if name.endswith("parquet") else pyarrow.ipc.open_file(path).read_all()

    def test_have_the_places_the_texts_and_the_vectors_of_the_passages(self):
        self.encode("plain", *RULE)
        plain = open_final(self.path / "plain.npy")
        for name in ("x.parquet", "x.arrow"):
            for size in ("9", "1000"):
                table = self.table(name, *RULE, "--columns", "text,row,document=/text", "--chunk-size", size, "--fresh")
                self.assertEqual(table.column_names, [*PLACES, "text", "row", "document", "embedding"])
                for i, column in enumerate(PLACES):
                    expected = plain.passages[:, PASSAGE_COLUMNS.index(column if i else "row")]
                    self.assertEqual(table[column].to_pylist(), expected.tolist(), column)
                self.assertEqual(table["row"].to_pylist(), table["source_row"].to_pylist())
                for row in table.select([*PLACES, "text", "document"]).to_pylist():
                    self.assertEqual(row["document"], DOCUMENTS[row["source_row"]])
                    self.assertEqual(row["text"], row["document"][row["char_begin"]:row["char_end"]])
                vectors = table["embedding"].combine_chunks().flatten().to_numpy()
                self.assertEqual(vectors.tobytes(), plain.matrix.tobytes())
                self.assertEqual(self.run_words(passages_run_test.ENCODE, "verify", self.path / name).returncode, 0)
                final = open_final(self.path / name)
                self.assertEqual(final.passages.tolist(), plain.passages.tolist())

    def test_of_set_aside_rows_keep_the_texts_of_the_others(self):
        side = passages_run_test.SetAside("test_is_a_whole_row")
        side.path, side.model = self.path, self.model
        side.write_broken_letter()
        table = self.table("x.parquet", *RULE, "--columns", "document=/text", "--quarantine", "zeros")
        rows = table["source_row"].to_pylist()
        self.assertEqual(set(rows), set(range(60)) - {8, 41})
        self.assertEqual(table["document"].to_pylist(), [side.bad[row] for row in rows])

    def test_of_a_filtered_input_have_the_number_of_the_record(self):
        where = ("--where", "length(text) > 100")
        table = self.table("x.parquet", *RULE, *where, "--columns", "text,row,document=/text")
        self.assertEqual(table.column_names, [*PLACES, "text", "row", "document", "embedding"])
        final = open_final(self.path / "x.parquet")
        records = [i for i, text in enumerate(DOCUMENTS) if len(text) > 100]
        self.assertTrue(0 < len(records) < len(DOCUMENTS))
        self.assertEqual(final.source_rows.tolist(), records)
        for row in table.select([*PLACES, "text", "row", "document"]).to_pylist():
            self.assertEqual(row["source_row"], records[row["row"]])
            self.assertEqual(row["document"], DOCUMENTS[row["source_row"]])
            self.assertEqual(row["text"], row["document"][row["char_begin"]:row["char_end"]])
        self.assertEqual(self.run_words(passages_run_test.ENCODE, "verify", self.path / "x.parquet").returncode, 0)

    def test_of_means_have_no_places(self):
        self.assertEqual(self.table("x.parquet", *RULE, "--row-vector", "mean", "--columns", "row").column_names,
                         ["row", "embedding"])


class Reader(passages_run_test.PassagesRun):
    def test_reads_finals(self):
        self.encode("out", *RULE)
        final = open_final(self.path / "out.npy")
        final.check()
        self.assertEqual(final.passages.shape, (len(final), len(PASSAGE_COLUMNS)))
        self.assertEqual(final.row_numbers().tolist(), final.passages[:, 0].tolist())
        self.assertEqual(final.row(4).tolist(), final.matrix[final.passages[:, 0] == 4].tolist())
        self.assertRaises(TypeError, lambda: next(read_batches(self.path / "out.npy")))
        path = self.path / "out.passages.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        self.assertRaises(Damaged, final.check)
        path.write_bytes(content[:-8])
        self.assertRaises((Damaged, ValueError), open_final, self.path / "out.npy")

    # Other programs look for a passage in its text, and find another one that is equal, or none after an overlap.
    def test_places_of_equal_passages_and_of_one_long_word_go_on(self):
        texts = ["chunk " * 200, "a" * 99, "a " * 300]
        self.write("documents.jsonl", texts)
        for rule in (RULE, ("--passage-tokens", "12", "--passage-overlap", "5", "--passages-by", "token")):
            self.encode("out", *rule, "--overwrite", "--fresh")
            places = open_final(self.path / "out.npy").passages
            for row, text in enumerate(texts):
                begins, ends = places[places[:, 0] == row][:, 4:6].T.tolist()
                self.assertGreater(len(begins), 5)
                self.assertEqual((begins[0], ends[-1]), (0, len(text)))
                for i in range(1, len(begins)):
                    self.assertTrue(begins[i - 1] < begins[i] <= ends[i - 1] < ends[i])
            self.assertLessEqual(places[:, 6].max(), 12)

    def test_reads_chunks(self):
        self.encode("out", *RULE, "--keep-chunks", "--cache-dir", self.path / "cache", "--chunk-size", "7")
        final = open_final(self.path / "out.npy")
        chunks = open_chunks(self.path / "cache", "out")
        self.assertEqual(chunks.rows_committed, 60)
        vectors = b"".join(chunks.read(chunk).tobytes() for chunk in chunks.committed)
        self.assertEqual(vectors, final.matrix.tobytes())
        for chunk in chunks.committed:
            chunk.check()
            self.assertEqual(len(chunks.offsets(chunk)), chunk.end - chunk.begin + 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
