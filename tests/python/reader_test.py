"""Reads matrices that `encode` has written with the package in python/, and compares them with NumPy and with each other.

    reader_test.py PATH_OF_ENCODE
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np
import xxhash

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = sys.argv.pop(1) if sys.argv[1:] else str(ROOT / "build/bin/encode")
MODEL = ROOT / "tests/data/models/distilbert"
ROWS = 10
sys.path.insert(0, str(ROOT / "python"))

from encode_reader import Damaged, SetAsideRow, TruncatedRow, open_chunks, open_final, open_parts, read_batches  # noqa: E402


def encode(folder, name, *options, suffix="npy"):
    """Encodes ten rows of 2 to 11 token ids to folder/NAME.SUFFIX, in chunks that are kept."""
    subprocess.run([ENCODE, "run", "--model", MODEL, "--input", folder / "rows.jsonl", "--field", "ids", "--output",
                    folder / f"{name}.{suffix}", "--cache-dir", folder / name, "--device", "cpu", "--chunk-size", "4",
                    "--max-length", "8", "--keep-chunks", *options], check=True, capture_output=True)


def sealed(record):
    rest = json.dumps({key: value for key, value in record.items() if key != "checksum"}, sort_keys=True,
                      separators=(",", ":"), ensure_ascii=False)[1:]
    return f'{{"checksum":"{xxhash.xxh3_128_hexdigest(rest.encode())}",{rest}'


def seal_of(path):
    content = path.read_bytes()
    return {"file_bytes": len(content), "xxh3_128": xxhash.xxh3_128_hexdigest(content)}


class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.made = pathlib.Path(cls.temporary.name) / "made"
        cls.made.mkdir()
        rows = [{"ids": [(7 * row + token) % 100 + 1 for token in range(row + 2)]} for row in range(ROWS)]
        (cls.made / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        encode(cls.made, "rows", "--pooling", "mean")
        encode(cls.made, "tokens", "--pooling", "none")
        for kind in ("float16", "int8", "uint8", "binary", "ubinary"):
            encode(cls.made, kind, "--pooling", "mean", "--output-dtype", kind)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.root = pathlib.Path(self.temporary.name) / "copy"
        shutil.copytree(self.made, self.root)
        self.addCleanup(shutil.rmtree, self.root)
        self.exact = np.load(self.root / "rows.npy")

    def final(self, name):
        return open_final(self.root / f"{name}.npy")

    def test_a_float32_matrix_is_mapped_as_it_is(self):
        final = self.final("rows")
        self.assertEqual((len(final), final.rows, final.dim, final.type), (ROWS, ROWS, self.exact.shape[1], "float32"))
        self.assertIsInstance(final.matrix, np.memmap)
        np.testing.assert_array_equal(final.floats(2, 5), self.exact[2:5])
        np.testing.assert_array_equal(final.row(7), self.exact[7])
        np.testing.assert_array_equal(final.row_numbers(), np.arange(ROWS))
        with self.assertRaises(IndexError):
            final.row(ROWS)

    def test_other_types_become_floats(self):
        np.testing.assert_array_equal(self.final("float16").floats(), self.exact.astype(np.float16).astype(np.float32))
        for kind in ("int8", "uint8"):
            final = self.final(kind)
            half_bucket = (final.ranges[1] - final.ranges[0]) / 510
            self.assertLessEqual(np.max(np.abs(final.floats() - self.exact) / half_bucket), 1.0001, kind)
        for kind in ("binary", "ubinary"):
            final = self.final(kind)
            np.testing.assert_array_equal(final.bits(), self.exact > 0)
            np.testing.assert_array_equal(final.floats(3, 4), np.where(self.exact[3:4] > 0, 1, -1))
        with self.assertRaises(TypeError):
            self.final("rows").bits()

    def test_a_type_of_integers_that_the_reader_does_not_know_is_refused(self):
        path = self.root / "int8.npy.manifest.json"
        path.write_text(sealed({**json.loads(path.read_text()), "output_dtype": "int4"}) + "\n")
        with self.assertRaisesRegex(Damaged, "'int4'; this reader knows floating-point types, int8, "):
            self.final("int8")

    def test_every_type_of_floating_point_numbers_is_read(self):
        self.publish("double", self.exact.astype(np.float64), dtype="<f8", output_dtype="float64")
        np.testing.assert_array_equal(self.final("double").floats(), self.exact)

    def test_the_bits_of_the_parts_of_a_combined_matrix_begin_at_bytes(self):
        final = self.final("ubinary")
        dim = final.dim
        final.matrix = np.concatenate([final.matrix, final.matrix], axis=1)
        final.manifest["fingerprint"] = {"combined": [{"dim": dim - 3}, {"dim": dim}]}
        signs = self.exact > 0
        np.testing.assert_array_equal(final.bits(), np.concatenate([signs[:, :dim - 3], signs], axis=1))

    def test_a_row_of_token_embeddings_has_a_vector_for_each_token(self):
        final = self.final("tokens")
        lengths = [min(row + 2, 8) for row in range(ROWS)]
        self.assertEqual([len(final.row(row)) for row in range(ROWS)], lengths)
        np.testing.assert_array_equal(np.concatenate([final.row(row) for row in range(ROWS)]), final.matrix)
        np.testing.assert_array_equal(final.row_numbers(), np.repeat(np.arange(ROWS), lengths))

    def test_truncated_rows_are_listed(self):
        self.assertEqual(self.final("rows").truncated(), [TruncatedRow(7, 8, 1), TruncatedRow(8, 8, 2), TruncatedRow(9, 8, 3)])
        self.assertEqual(self.final("rows").set_aside(), [])
        self.publish("part", self.exact, stats={"tokens": 10, "truncated_rows": 0, "lost_tokens": 0, "zero_token_rows": 0})
        self.assertEqual(self.final("part").truncated(), [])
        self.publish("part", self.exact)  # its counts are those of "rows"
        with self.assertRaisesRegex(Damaged, "names no list"):
            self.final("part").truncated()

    def test_a_suffix_in_capital_letters_stays_in_the_names_beside(self):
        encode(self.root, "capital", suffix="NPY")
        self.assertEqual(open_final(self.root / "capital.NPY").truncated(), self.final("rows").truncated())

    def publish(self, name, matrix, **facts):
        """Writes a matrix and its manifest, which is the one of rows.npy with other facts. Returns the manifest."""
        path = self.root / f"{name}.npy"
        np.save(path, matrix)
        manifest = {**json.loads((self.root / "rows.npy.manifest.json").read_text()), **facts, "ledger": None, **seal_of(path)}
        path.with_name(path.name + ".manifest.json").write_text(sealed(manifest) + "\n")
        return manifest

    def publish_without_row_3(self, **facts):
        """Writes the final `part.npy`, which lacks row 3, and `both.npy`, the combined matrix of this final and itself."""
        ledger = self.root / "part.set_aside.jsonl"
        ledger.write_text('{"code":"device.cuda","message":"it failed","row":3}\n')
        kept = np.delete(self.exact, 3, axis=0)
        dropped = {"dropped_rows": 1, "quarantine": "drop"}
        part = self.publish("part", kept, set_aside=seal_of(ledger), **dropped, **facts)
        entry = {"name": "part", "dim": part["dim"], "xxh3_128": part["xxh3_128"], "fingerprint": part["fingerprint"]}
        self.publish("both", np.concatenate([kept, kept], axis=1), parts=["part.npy", "part.npy"], dim=2 * part["dim"],
                     columns=2 * part["dim"], fingerprint={"combined": [entry, entry]}, **dropped)

    def test_dropped_rows_have_no_vector(self):
        self.publish_without_row_3()
        self.assertEqual(self.final("part").set_aside(), [SetAsideRow(3, "device.cuda", "it failed")])
        for name, exact in (("part", self.exact), ("both", np.concatenate([self.exact, self.exact], axis=1))):
            final = self.final(name)
            np.testing.assert_array_equal(final.row_numbers(), [0, 1, 2, 4, 5, 6, 7, 8, 9])
            for row in range(ROWS):
                if row == 3:
                    with self.assertRaises(KeyError):
                        final.row(row)
                else:
                    np.testing.assert_array_equal(final.row(row), exact[row], name)

    def test_rows_without_a_list_of_the_dropped_ones_have_no_vector(self):
        self.publish_without_row_3()
        ledger = self.root / "part.set_aside.jsonl"
        content = ledger.read_text()
        for wrong in ("", content.replace("3}", "4}"), content + content, "[]\n"):
            ledger.write_text(wrong)
            for name in ("part", "both"):
                with self.assertRaises(Damaged, msg=(name, wrong)):
                    self.final(name).row(0)
        ledger.unlink()
        for name in ("part", "both"):
            with self.assertRaises(Damaged, msg=name):
                self.final(name).row_numbers()
        ledger.write_text(content)
        self.publish("part", self.exact)  # another matrix than the one that was combined
        with self.assertRaises(Damaged):
            self.final("both").row(0)
        (self.root / "part.npy").unlink()
        with self.assertRaises(Damaged):
            self.final("both").row(0)

    def test_a_list_that_is_missing_is_not_an_empty_one(self):
        (self.root / "rows.truncated.jsonl").unlink()
        with self.assertRaises(Damaged):
            self.final("rows").truncated()
        self.publish_without_row_3()
        with self.assertRaisesRegex(TypeError, "part.npy"):
            self.final("both").set_aside()

    def test_a_check_without_xxhash_says_what_to_install(self):
        with unittest.mock.patch.dict(sys.modules, {"xxhash": None}):
            with self.assertRaisesRegex(ImportError, "pip install xxhash"):
                self.final("rows").check()

    def test_chunks_in_order_are_the_final(self):
        for name in ("rows", "tokens"):
            chunks = open_chunks(self.root / name, name)
            self.assertEqual([(chunk.begin, chunk.end) for chunk in chunks.committed], [(0, 4), (4, 8), (8, 10)])
            self.assertEqual(chunks.rows_committed, ROWS)
            np.testing.assert_array_equal(np.concatenate([chunks.read(chunk) for chunk in chunks.committed]),
                                          self.final(name).matrix)
        self.assertEqual(chunks.offsets(chunks.committed[1]).tolist(), [0, 6, 13, 21, 29])

    def test_batches_have_the_rows_of_the_matrix(self):
        for name in ("rows", "float16", "int8", "uint8", "binary", "ubinary"):
            final = self.final(name)
            batches = list(read_batches(final.path, rows=4))
            self.assertEqual([len(batch.vectors) for batch in batches], [4, 4, 2], name)
            np.testing.assert_array_equal(np.concatenate([batch.vectors for batch in batches]), final.floats())
            np.testing.assert_array_equal(np.concatenate([batch.row_numbers for batch in batches]), np.arange(ROWS))
        self.assertEqual([batch.vectors.shape[0] for batch in read_batches(self.root / "rows.npy", rows=8, vectors=False)], [0, 0])
        with self.assertRaises(TypeError):
            next(read_batches(self.root / "tokens.npy"))
        with self.assertRaises(KeyError):
            next(read_batches(self.root / "rows.npy", columns=["id"]))

    def test_merged_parts_have_the_rows_of_one_run(self):
        words = ["--model", MODEL, "--input", self.root / "rows.jsonl", "--field", "ids", "--output", self.root / "s.npy",
                 "--device", "cpu", "--chunk-size", "2", "--max-length", "8", "--pooling", "mean"]
        for command in (["shards", "plan", "--shards", "3"], *(["run", "--shard", f"{shard}/3"] for shard in range(3)),
                        ["merge"]):
            subprocess.run([ENCODE, *command, *words], check=True, capture_output=True)
        whole, parts = self.final("rows"), open_parts(self.root / "s.parts.json")
        batches = list(read_batches(self.root / "s.parts.json", rows=3))
        np.testing.assert_array_equal(np.concatenate([batch.vectors for batch in batches]), whole.floats())
        np.testing.assert_array_equal(np.concatenate([batch.row_numbers for batch in batches]), np.arange(ROWS))
        self.assertEqual((len(parts), parts.rows, parts.dim), (3, whole.rows, whole.dim))
        for row in range(whole.rows):
            np.testing.assert_array_equal(parts.row(row), whole.row(row))
        np.testing.assert_array_equal(np.concatenate([part.row_numbers() for part in parts]), whole.row_numbers())
        self.assertEqual([row for part in parts for row in part.truncated()], whole.truncated())
        self.assertRaises(IndexError, parts.row, whole.rows)
        for end in (".npy", ".npy.manifest.json"):  # another part, which is whole, in place of this one
            (self.root / f"s-00001-of-00003{end}").unlink()
            shutil.copy(self.root / f"s-00002-of-00003{end}", self.root / f"s-00001-of-00003{end}")
        self.assertRaises(Damaged, open_parts(self.root / "s.parts.json").part, 1)

    def test_chunks_that_are_committed_later_are_seen(self):
        log = self.root / "rows/rows_chunks/chunks.log"
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(lines[0] + lines[1][:-1])
        chunks = open_chunks(self.root / "rows", "rows")
        self.assertEqual(chunks.rows_committed, 4, "a line without its end is not committed")
        log.write_bytes(b"".join(lines))
        chunks.refresh()
        self.assertEqual(chunks.rows_committed, ROWS)

    def test_chunks_in_subfolders_are_read(self):
        """Streams of more than 10,000 chunks have them in sub-folders; here are two chunks in each."""
        folder = self.root / "tokens/tokens_chunks"
        before = [(chunk.begin, open_chunks(self.root / "tokens", "tokens").read(chunk).tobytes())
                  for chunk in open_chunks(self.root / "tokens", "tokens").committed]
        stream = json.loads((folder / "stream.json").read_text())
        text = sealed({**stream, "format": 4, "folder_chunks": 2})
        (folder / "stream.json").write_text(text + "\n")
        checksum = text[13:45]
        records = [{**json.loads(line), "stream": checksum} for line in (folder / "chunks.log").read_text().splitlines()]
        (folder / "chunks.log").write_text("".join(sealed(record) + "\n" for record in records))
        for path in list(folder.glob("chunk_*")):
            subfolder = folder / f"{int(path.name[6:10]) // 2:03d}"
            subfolder.mkdir(exist_ok=True)
            path.rename(subfolder / path.name)
        chunks = open_chunks(self.root / "tokens", "tokens")
        self.assertEqual([(chunk.begin, chunks.read(chunk).tobytes()) for chunk in chunks.committed], before)
        self.assertEqual(chunks.committed[2].path.parent.name, "001")
        for chunk in chunks.committed:
            chunk.check()
            chunk.truncated()

    def test_a_changed_bit_in_a_file_of_a_chunk_is_found(self):
        chunk = open_chunks(self.root / "tokens", "tokens").committed[1]
        chunk.check()
        for name in ("chunk_0001.npy", "chunk_0001.offsets.npy", "chunk_0001.truncated.jsonl"):
            path = self.root / "tokens/tokens_chunks" / name
            content = path.read_bytes()
            path.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
            with self.assertRaises(Damaged, msg=name):
                chunk.check()
            path.write_bytes(content)

    def test_a_record_with_other_facts_is_left_out(self):
        log = self.root / "rows/rows_chunks/chunks.log"
        lines = log.read_text().splitlines()
        record = json.loads(lines[0])
        changes = ({"rows": [0, 5]}, {"index": 3}, {"index": -1}, {"file_bytes": 1}, {"stream": "0" * 32},
                   {"offsets": record["stats"]})
        for change in ({}, *changes):
            log.write_text("\n".join([sealed({**record, **change}), *lines[1:]]) + "\n")
            begins = [chunk.begin for chunk in open_chunks(self.root / "rows", "rows").committed]
            self.assertEqual(begins, [4, 8] if change else [0, 4, 8], change)

    def test_a_changed_bit_in_a_sealed_file_is_found(self):
        for path in (self.root / "rows.npy.manifest.json", self.root / "rows/rows_chunks/stream.json"):
            content = path.read_bytes()
            path.write_bytes(content.replace(b'"dim": 3', b'"dim": 4', 1).replace(b'"dim": 1', b'"dim": 2', 1))
            self.assertNotEqual(path.read_bytes(), content)
            with self.assertRaises(Damaged, msg=path):
                open_final(self.root / "rows.npy") if path.parent == self.root else open_chunks(self.root / "rows", "rows")
            path.write_bytes(content)

    def test_a_sealed_object_with_a_key_twice_is_refused(self):
        path = self.root / "rows.npy.manifest.json"
        text = path.read_bytes()[47:-1]
        for rest in (text.replace(b'"rows": 10', b'"rows": 10, "rows": 10', 1),
                     text.replace(b'"truncated_rows": ', b'"tokens": 1, "truncated_rows": ', 1)):
            self.assertNotEqual(rest, text)
            path.write_bytes(b'{"checksum":"' + xxhash.xxh3_128_hexdigest(rest).encode() + b'",' + rest + b"\n")
            with self.assertRaisesRegex(Damaged, "the key '(rows|tokens)' is there twice"):
                self.final("rows")

    def test_the_code_in_the_description_of_the_files_runs(self):
        page = (ROOT / "docs/store-format.md").read_text()
        code, = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        code = code.replace("books.npy", str(self.root / "rows.npy"))
        names = {}
        exec(compile(code, "store-format.md", "exec"), names)
        self.assertEqual(names["manifest"]["rows"], ROWS)
        manifest = self.root / "rows.npy.manifest.json"
        manifest.write_bytes(manifest.read_bytes().replace(b'"rows": 10', b'"rows": 11'))
        with self.assertRaises(AssertionError):
            exec(compile(code, "store-format.md", "exec"), {})

    def test_what_is_missing_or_damaged_is_said(self):
        for damage in ("truncated", "manifest", "offsets"):
            path = {"truncated": self.root / "tokens.npy", "manifest": self.root / "tokens.npy.manifest.json",
                    "offsets": self.root / "tokens.offsets.npy"}[damage]
            content = path.read_bytes()
            path.write_bytes(content[:-1])
            with self.assertRaises((Damaged, ValueError), msg=damage):
                self.final("tokens")
            path.write_bytes(content)
        (self.root / "rows.npy.manifest.json").unlink()
        with self.assertRaises(FileNotFoundError):
            self.final("rows")
        with self.assertRaises(FileNotFoundError):
            open_chunks(self.root, "nothing")

    def encode_tables(self):
        for suffix in ("parquet", "arrow"):
            encode(self.root, "table", "--pooling", "mean", "--output-format", suffix, "--columns", "row,ids", suffix=suffix)
            yield self.root / f"table.{suffix}"

    def test_without_pyarrow_a_table_says_what_is_missing(self):
        for path in self.encode_tables():
            with unittest.mock.patch.dict(sys.modules, {"pyarrow": None}):
                with self.assertRaisesRegex(ImportError, "pip install pyarrow"):
                    open_final(path)

    def test_tables_have_the_same_vectors_and_other_columns(self):
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            self.skipTest(f"pyarrow cannot be imported ({error}); tests/soak/columnar.py runs this test with pyarrow")
        for path in self.encode_tables():
            final = open_final(path)
            np.testing.assert_array_equal(final.matrix, self.exact)
            np.testing.assert_array_equal(final.row(3), self.exact[3])
            self.assertEqual(final.column("row"), list(range(ROWS)))
            self.assertEqual(json.loads(final.column("ids")[1]), [8, 9, 10])
            self.assertTrue(final.truncated())
            with self.assertRaises(KeyError):
                final.column("text")
            content = path.read_bytes()
            for damaged in (content[:-1], content[:len(content) // 2] + bytes(len(content) - len(content) // 2)):
                path.write_bytes(damaged)
                with self.assertRaises(Damaged):
                    open_final(path)

    def test_a_filtered_matrix_leads_back_to_the_records(self):
        self.assertIsNone(self.final("rows").source_rows)
        encode(self.root, "filtered", "--pooling", "mean", "--where", "/ids/3 is not null")  # the first records are shorter
        final = self.final("filtered")
        np.testing.assert_array_equal(final.source_rows, np.arange(2, ROWS))
        np.testing.assert_array_equal(final.floats(), self.exact[2:])
        final.check()
        path = self.root / "filtered.source_rows.npy"
        content = path.read_bytes()
        path.write_bytes(content[:-8] + bytes(8))
        with self.assertRaisesRegex(Damaged, "source rows"):
            self.final("filtered")
        path.write_bytes(content[:-8] + (99).to_bytes(8, "little"))
        with self.assertRaises(Damaged):
            self.final("filtered").check()

    def test_a_changed_bit_is_found_with_xxhash(self):
        self.final("int8").check()
        for name in ("tokens.npy", "tokens.offsets.npy", "tokens.truncated.jsonl", "int8.npy.ranges.npy"):
            path = self.root / name
            content = path.read_bytes()
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            with self.assertRaises(Damaged, msg=name):
                self.final(name.split(".")[0]).check()
            path.write_bytes(content)


if __name__ == "__main__":
    unittest.main()
