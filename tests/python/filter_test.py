"""Calls encode_embeddings.run() with the filter `where` for tables in memory, and compares the rows that it keeps with those that
the command keeps of the same table in a Parquet file.

    filter_test.py PATH_OF_ENCODE

environment.py says where it runs, and when it is skipped.
"""
import datetime
import decimal
import os
import subprocess
import sys
import unittest

from environment import ENCODE, ROOT, FolderCase, enter

enter()

import datasets  # noqa: E402  (the environment is only now the right one)
import numpy as np  # noqa: E402
import pandas  # noqa: E402
import polars  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet  # noqa: E402

import encode_embeddings  # noqa: E402
from encode_embeddings import EncodeError, run, run_final  # noqa: E402
from encode_embeddings._filter import filter_fields  # noqa: E402

STATIC = ROOT / "tests/data/sentence_transformers/static_embedding"
ROWS = 40


def column(function, nulls=True):
    return [None if nulls and row % 7 == 3 else function(row) for row in range(ROWS)]


def typed_table():
    utc = datetime.timezone.utc
    return pa.table({
        "body": [f"text {row}" for row in range(ROWS)],
        "lang": column(lambda row: ("en", "de", "fr")[row % 3]),
        "stars": pa.array(column(lambda row: row - 20), pa.int16()),
        "big": pa.array(column(lambda row: 2**64 - 1 - row), pa.uint64()),
        "score": pa.array(column(lambda row: float("nan") if row == 9 else row / 10), pa.float64()),
        "half": pa.array(np.arange(ROWS, dtype=np.float16) / 8),
        "single": pa.array(column(lambda row: row / 10), pa.float32()),
        "price": pa.array(column(lambda row: decimal.Decimal(row) / 100), pa.decimal128(10, 2)),
        "public": pa.array(column(lambda row: row % 2 == 0)),
        "day": pa.array(column(lambda row: datetime.date(2024, 1, 1) + datetime.timedelta(row))),
        "moment": pa.array(column(lambda row: datetime.datetime(2024, 1, 1, row % 24, tzinfo=utc)), pa.timestamp("ms", "UTC")),
        "kind": pa.array(column(lambda row: "abc"[row % 3])).dictionary_encode(),
        "a b": column(lambda row: row, nulls=False),
        "in": column(lambda row: row % 5),
        "length": column(lambda row: row),
    })


FILTERS = (
    'lang == "en"', 'not lang in ("en", "de")', "lang is null", 'lang != "\\"de` and nobody"', "stars > 3", "-3 <= stars and stars<3",
    "big >= 18446744073709551600", "score > 0.3", "single <= 0.3", "half = 0.125", "price in [0.01, 0.1, 0.25]", "public",
    "not public", "public is null", 'day >= "2024-01-31"', 'moment < "2024-01-01 03"', 'kind == "a" or kind = \'b\'', "`a b` < 3",
    "`in` = 2", "length(body) > 6 AND length < 30", "length (lang) = 2", 'public and (score > 1e0 or lang == "fr")')


class Case(FolderCase):
    def command_rows(self, path, where):
        """Returns the records that the command keeps."""
        output = self.folder / "command.npy"
        subprocess.run([ENCODE, "run", "--model", STATIC, "--input", path, "--field", "body", "--where", where, "--output", output,
                        "--overwrite", "--fresh"], check=True, capture_output=True,
                       env={**os.environ, "ARROW_ROOT": os.path.dirname(pa.__file__)})
        return np.load(self.folder / "command.source_rows.npy").tolist()


class Filters(Case):
    def test_a_filter_keeps_the_rows_that_the_command_keeps(self):
        table = typed_table()
        path = self.folder / "table.parquet"
        pyarrow.parquet.write_table(table, path)
        kept = set()
        whole = run(table, model=STATIC, field="body")
        for where in FILTERS:
            with self.subTest(where):
                expected = self.command_rows(path, where)
                kept.add(len(expected))
                final = run_final(table, model=STATIC, field="body", where=where)
                self.assertEqual(final.source_rows.tolist(), expected)
                np.testing.assert_array_equal(final.matrix, whole[expected])
        self.assertGreater(len(kept), 8)  # the filters differ

    def test_every_table_keeps_the_same_rows(self):
        table = typed_table().select(["body", "lang", "stars", "public", "kind"])
        sources = [table, table.to_reader(max_chunksize=7), table.to_batches()[0], table.to_pandas(), table.to_pandas(
            types_mapper=pandas.ArrowDtype), polars.from_arrow(table), polars.from_arrow(table).lazy(),
            datasets.Dataset.from_dict(table.to_pydict()), datasets.Dataset.from_dict(table.to_pydict()).to_iterable_dataset()]
        where = 'public and stars > -10 and (lang == "en" or kind == "b")'
        expected = [row["stars"] + 20 for row in table.to_pylist()
                    if row["public"] and row["stars"] > -10 and (row["lang"] == "en" or row["kind"] == "b")]
        self.assertGreater(len(expected), 3)
        for source in sources:
            with self.subTest(type(source).__name__):
                self.assertEqual(run_final(source, model=STATIC, field="body", where=where).source_rows.tolist(), expected)

    def test_a_table_output_has_the_kept_rows(self):
        table = run(typed_table(), model=STATIC, field="body", where="stars > 17", output_format="arrow", columns=["text", "stars"])
        self.assertEqual(table.drop(["embedding"]).to_pydict(),
                         {"text": ["text 39"], "stars": ["19"], "source_row": [39]})

    def test_a_number_in_the_text_and_in_the_filter_is_one_column(self):
        frame = pandas.DataFrame({"n": [1, 20], "x": [0.5, 1e20], "yes": [True, False], "body": ["a", "b"]})
        vectors = run(frame, model=STATIC, text="{n} {x} {yes} {body}", where="n > 3 and x > 1 and not yes")
        np.testing.assert_array_equal(vectors, run(frame[1:], model=STATIC, text="{n} {x} {yes} {body}"))

    def test_a_column_of_objects_has_one_type(self):
        rows = 8192 + 3  # the second part has other values than the first
        frame = pandas.DataFrame({"body": "x", "public": [True] * 8192 + [None] * 3, "n": [7] + [None] * 8192 + [1, 2]},
                                 dtype=object)
        self.assertEqual(len(run(frame, model=STATIC, field="body", where="public")), 8192)
        self.assertEqual(run_final(frame, model=STATIC, field="body", where="n > 1").source_rows.tolist(), [0, rows - 1])

    def test_a_column_of_nulls_is_null(self):
        table = pa.table({"body": ["a", "b"], "nothing": pa.nulls(2)})
        self.assertEqual([len(run(table, model=STATIC, field="body", where=f"nothing is {kind}")) for kind in ("null", "not null")],
                         [2, 0])

    def test_texts_without_columns_have_the_column_text(self):
        for texts in (["a", "abc", "ab"], pandas.Series(["a", "abc", "ab"], name="text"), pa.array(["a", "abc", "ab"])):
            self.assertEqual(len(run(texts, model=STATIC, where="length(text) > 1")), 2)
        with self.assertRaisesRegex(TypeError, "where= with 'lang' needs named columns"):
            run(["a"], model=STATIC, where='lang = "en"')

    def test_a_file_is_filtered_by_the_program(self):
        (self.folder / "rows.jsonl").write_text('{"t": "one", "n": 1}\n{"t": "two", "n": 2}\n')
        np.testing.assert_array_equal(run(self.folder / "rows.jsonl", model=STATIC, field="t", where="n = 2"),
                                      run(["two"], model=STATIC))


class Directories(Case):
    def test_another_filter_and_another_value_are_another_run(self):
        table = pa.table({"body": ["a", "b", "c"], "n": [1, 2, 3]})
        for source, where in ((table, "n > 1"), (table, "n > 2"), (table.set_column(1, "n", pa.array([3, 2, 1])), "n > 1")):
            run(source, model=STATIC, field="body", where=where)
        self.assertEqual(sum(path.is_dir() for path in encode_embeddings.cache_folder().iterdir()), 3)
        # 1.0 and "1" are other values for a filter than 1.
        run(table.set_column(1, "n", pa.array([1.0, 2.0, 3.0])), model=STATIC, field="body", where="n > 1")
        self.assertEqual(sum(path.is_dir() for path in encode_embeddings.cache_folder().iterdir()), 4)


class Errors(Case):
    def test_what_is_no_filter_for_the_table_is_an_error(self):
        table = pa.table({"body": ["a"], "lang": ["en"], "tags": [["x"]]})
        for where, kind, message in (("lang = ", EncodeError, "config.filter"), ("lnag = 'en'", KeyError, "no column 'lnag'"),
                                     ("lang > 3", EncodeError, "filter.type"), ("tags is null", TypeError, "'tags' is list<")):
            with self.subTest(where), self.assertRaisesRegex(kind, message):
                run(table, model=STATIC, field="body", where=where)
        run(table, model=STATIC, field="body", where="lang = 'en'")
        frame = pandas.DataFrame({"body": ["a", "b"], "mixed": [1, "x"]})
        with self.assertRaisesRegex(TypeError, "the column 'mixed': row 0 .* found int"):
            run(frame, model=STATIC, field="body", where="mixed = 1")

    def test_the_fields_of_a_filter(self):
        self.assertEqual(filter_fields("""a = "b = 'c" and `d "e` > 1e5 and not /f/g is NULL or length(h) < -.5 and ü in [true, 'i"']"""),
                         ["a", 'd "e', "/f/g", "h", "ü"])
        self.assertEqual(filter_fields("`a`='\\'b' and length = 3 and A1 != 'x' and a > +2"), ["a", "length", "A1"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
