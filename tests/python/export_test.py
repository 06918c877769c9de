"""Exports matrices of the real programs into real stores: a PostgreSQL with pgvector, Lance, FAISS and datasets.

    export_test.py PATH_OF_ENCODE

environment.py says where it runs, and when it is skipped. tests/soak/export.py exports a million rows, with kills.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import uuid
import warnings

from environment import ENCODE, ROOT, enter

enter()
if importlib.util.find_spec("pgserver") is None:
    print("skipped: no pgserver for this processor")
    sys.exit(77)

import numpy as np  # noqa: E402  (the environment is only now the right one)
import pyarrow as pa  # noqa: E402

import encode_embeddings  # noqa: E402
from encode_embeddings import EncodeError  # noqa: E402
from encode_embeddings.export import export, main  # noqa: E402
from encode_embeddings.export._rows import ID_NAMESPACE, row_hash  # noqa: E402

MODEL = ROOT / "tests/data/sentence_transformers/static_embedding"
ROWS = 300


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.made = pathlib.Path(cls.temporary.name)
        os.environ["XDG_CACHE_HOME"] = str(cls.made / "xdg")
        cls.matrices = 0

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def matrix(cls, ids, texts, suffix="parquet", **settings):
        """Encodes texts, and returns the path of the matrix."""
        cls.matrices += 1
        output = cls.made / f"matrix{cls.matrices}.{suffix}"
        columns = {} if suffix == "npy" else {"columns": ["id", "text"]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encode_embeddings.run(pa.table({"id": ids, "text": texts}), field="text", model=MODEL, output=output, **columns, **settings)
        return output

    def rows(self, count=ROWS):
        return [f"id {row}" for row in range(count)], [f"text {row % 7} {row}" if row % 5 else "" for row in range(count)]


class StoreTests:
    """What every store must do. A subclass has `name`, into() and content()."""

    def send(self, source, into, **options):
        report = export(source, to=self.name, into=into, batch_rows=64, **options)
        return report.new, report.changed, report.unchanged

    def test_a_store_has_the_rows_of_the_matrix_and_gets_only_what_is_new(self):
        ids, texts = self.rows()
        into = self.into("rows")
        source = self.matrix(ids, texts)
        self.assertEqual(self.send(source, into, id_column="id"), (ROWS, 0, 0))
        self.check(into, source, ids, texts)
        self.assertEqual(self.send(source, into, id_column="id"), (0, 0, ROWS))
        more, more_texts = self.rows(ROWS + 10)
        more_texts[70] = "another text"
        longer = self.matrix(more, more_texts)
        self.assertEqual(self.send(longer, into, id_column="id"), (10, 1, ROWS - 1))
        self.check(into, longer, more, more_texts)

    def test_the_numbers_of_rows_are_ids_without_a_column(self):
        ids, texts = self.rows(100)
        into = self.into("numbers")
        source = self.matrix(ids, texts, "npy")
        self.assertEqual(self.send(source, into), (100, 0, 0))
        self.check(into, source, list(range(100)), [None] * 100)

    def test_rows_of_another_model_or_other_ids_are_refused(self):
        ids, texts = self.rows(10)
        into = self.into("other")
        source = self.matrix(ids, texts)
        self.send(source, into, id_column="id")
        for options, other in (({"id_column": "id"}, self.matrix(ids, texts, truncate_dim=4)), ({}, source),
                               ({"id_column": "id"}, self.matrix(ids, texts, normalize=False))):
            with self.assertRaises(EncodeError) as raised:
                self.send(other, into, **options)
            self.assertEqual((raised.exception.code, raised.exception.exit_code), ("export.other", 78))
        self.check(into, source, ids, texts)

    def check(self, into, source, ids, texts):
        found = self.content(into)
        vectors = np.concatenate([batch.vectors for batch in encode_reader_batches(source)])
        self.assertEqual(sorted(found, key=str), sorted((self.held(each) for each in ids), key=str))
        for each, text, vector in zip(ids, texts, vectors):
            stored_text, stored = found[self.held(each)]
            self.assertEqual(stored_text, text)
            np.testing.assert_array_equal(np.asarray(stored, np.float32), vector)

    def held(self, value):
        return value


def encode_reader_batches(source):
    from encode_reader import read_batches
    return read_batches(source, 100)


class PgVector(StoreTests, Case):
    name = "pgvector"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import pgserver
        cls.server = pgserver.get_server(cls.made / "pg")

    @classmethod
    def tearDownClass(cls):
        cls.server.cleanup()
        super().tearDownClass()

    def send(self, source, into, **options):
        return super().send(source, self.server.get_uri(), table=into, **options)

    def into(self, name):
        return f"table_{name}"

    def query(self, text):
        import psycopg
        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []

    def content(self, into):
        return {each: (text, [float(number) for number in vector[1:-1].split(",")])
                for each, text, vector in self.query(f"SELECT id, text, embedding::text FROM {into}")}

    def test_a_table_that_no_export_has_made_is_refused(self):
        self.query("CREATE TABLE foreign_rows (id bigint)")
        source = self.matrix(*self.rows(3))
        with self.assertRaises(EncodeError) as raised:
            self.send(source, "foreign_rows", id_column="id")
        self.assertEqual((raised.exception.code, raised.exception.exit_code), ("export.exists", 73))

    def test_an_id_with_nul_becomes_a_uuid_and_a_text_with_nul_is_refused(self):
        source = self.matrix(["a\0b", "c"], ["one", "two"])
        self.send(source, "nul_ids", id_column="id")
        self.assertEqual({row[0] for row in self.query("SELECT id FROM nul_ids")}, {str(uuid.uuid5(ID_NAMESPACE, "a\0b")), "c"})
        source = self.matrix(["a", "b"], ["one", "t\0wo"])
        with self.assertRaises(EncodeError) as raised:
            self.send(source, "nul_texts", id_column="id")
        self.assertEqual(raised.exception.code, "export.text")
        self.assertEqual(self.query("SELECT count(*) FROM nul_texts"), [(0,)])
        self.assertEqual(self.send(source, "nul_texts", id_column="id", text_column=""), (2, 0, 0))

    def test_two_exports_into_one_table_exclude_each_other(self):
        import psycopg
        source = self.matrix(*self.rows(3))
        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(hashtextextended('encode busy', 0))")
            with self.assertRaises(EncodeError) as raised:
                self.send(source, "busy", id_column="id")
        self.assertEqual((raised.exception.code, raised.exception.resumable), ("export.busy", True))
        self.assertEqual(self.send(source, "busy", id_column="id"), (3, 0, 0))


class Lance(StoreTests, Case):
    name = "lance"

    def into(self, name):
        return str(self.made / f"{name}.lance")

    def content(self, into):
        import lance
        table = lance.dataset(into).to_table().to_pydict()
        self.assertEqual(len(set(table["id"])), len(table["id"]))
        return {each: (text, vector) for each, text, vector in zip(table["id"], table["text"], table["embedding"])}

    def test_a_folder_that_is_no_dataset_is_refused(self):
        folder = self.made / "folder.lance"
        folder.mkdir()
        (folder / "note.txt").write_text("mine")
        with self.assertRaises(EncodeError) as raised:
            self.send(self.matrix(*self.rows(3)), str(folder), id_column="id")
        self.assertEqual(raised.exception.code, "export.exists")
        self.assertEqual((folder / "note.txt").read_text(), "mine")


class Faiss(StoreTests, Case):
    name = "faiss"

    def into(self, name):
        return str(self.made / f"{name}.faiss")

    def held(self, value):
        return uuid.uuid5(ID_NAMESPACE, value).int >> 65 if isinstance(value, str) else value

    def content(self, into):
        import faiss
        index = faiss.read_index(into)
        ids = faiss.vector_to_array(index.id_map).tolist()
        self.assertEqual(len(set(ids)), index.ntotal)
        return {each: (None, index.reconstruct(each)) for each in ids}

    def check(self, into, source, ids, texts):
        super().check(into, source, ids, [None] * len(ids))  # FAISS holds no texts

    def test_after_a_kill_between_two_names_the_index_has_its_state(self):
        ids, texts = self.rows(70)
        into = pathlib.Path(self.into("kill"))
        source = self.matrix(ids, texts)
        self.send(source, str(into), id_column="id")
        state, following = (into.with_name(f"{into.name}.export{middle}.npz") for middle in ("", ".next"))
        old_state, old_index = state.read_bytes(), into.read_bytes()
        longer = self.matrix(*self.rows(80))
        self.send(longer, str(into), id_column="id")
        state.rename(following)
        state.write_bytes(old_state)
        self.assertEqual(self.send(longer, str(into), id_column="id"), (0, 0, 80))  # killed after the index had its name
        into.write_bytes(old_index)
        self.assertEqual(self.send(longer, str(into), id_column="id"), (10, 0, 70))  # killed before
        into.write_bytes(old_index[:-1] + b"x")
        with self.assertRaises(EncodeError) as raised:
            self.send(longer, str(into), id_column="id")
        self.assertEqual(raised.exception.code, "export.damaged")

    def test_a_file_that_no_export_has_made_and_another_metric_are_refused(self):
        into = pathlib.Path(self.into("mine"))
        into.write_bytes(b"mine")
        source = self.matrix(*self.rows(3))
        with self.assertRaises(EncodeError) as raised:
            self.send(source, str(into), id_column="id")
        self.assertEqual((raised.exception.code, into.read_bytes()), ("export.exists", b"mine"))
        self.send(source, self.into("metric"), id_column="id")
        with self.assertRaises(EncodeError) as raised:
            self.send(source, self.into("metric"), id_column="id", metric="l2")
        self.assertEqual(raised.exception.code, "export.other")


class HfDataset(StoreTests, Case):
    name = "hf-dataset"

    def into(self, name):
        return str(self.made / f"{name}.dataset")

    def content(self, into):
        import datasets
        datasets.disable_progress_bars()
        with tempfile.TemporaryDirectory() as cache:
            rows = datasets.load_dataset(into, split="train", cache_dir=cache)
            self.assertEqual(len(set(rows["id"])), len(rows))
            return {row["id"]: (row["text"], row["embedding"]) for row in rows}

    def test_only_the_files_with_new_rows_are_written(self):
        into = pathlib.Path(self.into("files"))
        self.send(self.matrix(*self.rows(130)), str(into), id_column="id")
        before = {path.name: path.stat().st_mtime_ns for path in (into / "data").iterdir()}
        self.send(self.matrix(*self.rows(200)), str(into), id_column="id")
        after = {path.name: path.stat().st_mtime_ns for path in (into / "data").iterdir()}
        self.assertEqual((len(before), len(after)), (3, 4))
        self.assertEqual([after[name] == before[name] for name in sorted(before)], [True, True, False])
        with self.assertRaises(EncodeError) as raised:
            self.send(self.matrix(*self.rows(20)), str(into), id_column="id")
        self.assertEqual(raised.exception.code, "export.other")

    def test_a_folder_with_other_files_is_refused(self):
        into = pathlib.Path(self.into("mine"))
        into.mkdir()
        (into / "mine").write_text("mine")
        with self.assertRaises(EncodeError) as raised:
            self.send(self.matrix(*self.rows(3)), str(into), id_column="id")
        self.assertEqual((raised.exception.code, [path.name for path in into.iterdir()]), ("export.exists", ["mine"]))


class Batches(Case):
    def test_batches_of_a_table_have_its_vectors_and_columns(self):
        from encode_reader import open_final, read_batches
        ids, texts = self.rows(50)
        for suffix in ("parquet", "arrow"):
            for kind in ("float32", "int8", "binary"):
                path = self.matrix(ids, texts, suffix, output_dtype=kind)
                batches = list(read_batches(path, rows=7, columns=["id", "text"]))
                np.testing.assert_array_equal(np.concatenate([batch.vectors for batch in batches]), open_final(path).floats())
                self.assertEqual([each for batch in batches for each in batch.columns["id"]], ids)
                self.assertEqual([each for batch in batches for each in batch.columns["text"]], texts)
                self.assertLessEqual(max(len(batch.row_numbers) for batch in batches), 7)
                names = [each for batch in read_batches(path, 9, ["id"], vectors=False) for each in batch.columns["id"]]
                self.assertEqual(names, ids)


class Ids(Case):
    def test_two_rows_with_one_id_and_a_row_without_an_id_are_refused(self):
        into = str(self.made / "ids.lance")
        source = self.matrix(["a", "b", "a"], ["one", "two", "three"])
        with self.assertRaises(EncodeError) as raised:
            export(source, to="lance", into=into, id_column="id")
        self.assertEqual((raised.exception.code, raised.exception.exit_code, raised.exception.found),
                         ("export.duplicate", 65, "'a' in the rows 0 and 2"))
        source = self.matrix(["a", None, "b"], ["one", "two", "three"])
        with self.assertRaises(EncodeError) as raised:
            export(source, to="lance", into=into, id_column="id")
        self.assertEqual((raised.exception.code, raised.exception.found), ("export.id", "null in row 1"))
        self.assertFalse(os.path.exists(into))

    def test_the_hash_of_a_row_depends_on_each_of_its_parts(self):
        vector = np.array([1, 2], np.float32).tobytes()
        hashes = {row_hash(1, None, vector), row_hash("1", None, vector), row_hash(1, "", vector), row_hash(1, "x", vector),
                  row_hash("1x", None, vector), row_hash(1, None, vector[::-1]), row_hash("", "1", vector), row_hash("1", "", vector)}
        self.assertEqual(len(hashes), 8)

    def test_the_command_prints_what_it_did(self):
        source = self.matrix(*self.rows(3))
        into = str(self.made / "command.lance")
        command = [sys.executable, "-B", "-m", "encode_embeddings", "export", source, "--to", "lance", "--into", into, "--id", "id"]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^3 rows: 3 new, 0 changed, 0 unchanged \(", done.stderr)
        self.assertEqual(main([str(self.made / "none.npy"), "--to", "lance", "--into", into]), 66)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
