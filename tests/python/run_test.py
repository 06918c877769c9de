"""Calls encode_embeddings.run() with the real programs, and compares its vectors with those of the command.

    run_test.py PATH_OF_ENCODE

environment.py says where it runs, and when it is skipped.
"""
import contextlib
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

from environment import ENCODE, ROOT, FolderCase, enter

enter()

import datasets  # noqa: E402  (the environment is only now the right one)
import numpy as np  # noqa: E402
import pandas  # noqa: E402
import polars  # noqa: E402
import pyarrow as pa  # noqa: E402

import encode_embeddings  # noqa: E402
from encode_embeddings import EncodeError, _program, run, run_final  # noqa: E402

BERT = ROOT / "tests/data/models/bert"  # takes token ids
STATIC = ROOT / "tests/data/sentence_transformers/static_embedding"
TEXTS = ["one two", "three", "", "Zürich \U0001f600", "one\ntwo", "one two"]
SLOW_ROWS = 3000


def token_rows(rows):
    return [[(7 * row + token) % 100 + 1 for token in range(row % 20 + 20)] for row in range(rows)]


def child_of(pid):
    """Returns the process `encode` that a process has started, or None."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, rest = stat.read_text().rsplit(")", 1)
            if int(rest.split()[1]) == pid and name.endswith("(encode"):
                return int(stat.parent.name)
    return None


class Case(FolderCase):
    def directories(self):
        return sorted(path for path in encode_embeddings.cache_folder().iterdir() if path.is_dir())

    def command(self, rows, model, *options):
        """Returns the matrix of the command for a JSONL file of the rows."""
        (self.folder / "rows.jsonl").write_text("".join(json.dumps({"t": row}) + "\n" for row in rows))
        subprocess.run([ENCODE, "run", "--model", model, "--input", self.folder / "rows.jsonl", "--field", "t", "--output",
                        self.folder / "command.npy", "--overwrite", "--fresh", *options], check=True, capture_output=True)
        return np.load(self.folder / "command.npy")


class Sources(Case):
    def test_every_source_gives_the_bits_of_the_command(self):
        expected = self.command(TEXTS, STATIC)
        frame = pandas.DataFrame({"id": range(len(TEXTS)), "body": TEXTS})
        table = pa.table({"id": list(range(len(TEXTS))), "body": TEXTS})
        dataset = datasets.Dataset.from_dict({"id": list(range(len(TEXTS))), "body": TEXTS})
        sources = [
            TEXTS, tuple(TEXTS), (text for text in TEXTS), np.array(TEXTS), frame, frame["body"], frame["body"].astype("category"),
            frame["body"].astype(object), polars.DataFrame({"body": TEXTS}), polars.LazyFrame({"body": TEXTS}),
            polars.Series(TEXTS), table, table.to_batches()[0], table.to_reader(), table["body"], table["body"].chunk(0),
            table["body"].dictionary_encode(), dataset, dataset.to_iterable_dataset(), polars.DataFrame(
                {"body": TEXTS}, schema={"body": polars.Categorical})]
        for source in sources:
            with self.subTest(type(source).__name__):
                vectors = run(source, model=STATIC)
                self.assertIsInstance(vectors, np.memmap)
                self.assertFalse(vectors.flags.writeable)
                np.testing.assert_array_equal(vectors, expected)
        names = {len(directory.name) for directory in self.directories()}
        self.assertEqual(names, {32})
        # The name of a column is a part of the content; nothing else of a source is.
        self.assertEqual(len(self.directories()), 2)

    def test_a_path_is_read_by_the_program(self):
        expected = self.command(TEXTS, STATIC)
        path = self.folder / "rows.jsonl"
        for source in (path, str(path), str(self.folder / "row*.jsonl")):
            np.testing.assert_array_equal(run(source, model=STATIC, field="t"), expected)
        self.assertEqual(len(self.directories()), 1)
        with self.assertRaisesRegex(FileNotFoundError, "to encode one text, give a list"):
            run("a text", model=STATIC)

    def test_a_template_makes_the_text_from_several_columns(self):
        template = "{{{title}}} no. {number}: {body}"
        frame = pandas.DataFrame({"number": range(len(TEXTS)), "body": TEXTS, "title": "Title", "unused": 0.5})
        expected = self.command([f"{{Title}} no. {row}: {text}" for row, text in enumerate(TEXTS)], STATIC)
        for source in (frame, polars.DataFrame(frame), pa.table(frame), datasets.Dataset.from_pandas(frame)):
            with self.subTest(type(source).__name__):
                np.testing.assert_array_equal(run(source, model=STATIC, text=template), expected)
        frame.loc[1, "title"] = None
        with self.assertRaisesRegex(EncodeError, "arrow.null"):
            run(frame, model=STATIC, text=template)
        self.assertEqual(len(run(frame, model=STATIC, text=template, missing_field="empty")), len(TEXTS))
        with self.assertRaisesRegex(KeyError, "no column 'name'"):
            run(frame, model=STATIC, text="{name}")
        with self.assertRaisesRegex(TypeError, "needs named columns"):
            run(TEXTS, model=STATIC, text="{name}")
        with self.assertRaisesRegex(EncodeError, "config.value"):
            run(frame, model=STATIC, text="{title")

    def test_token_ids_have_the_bits_of_the_command(self):
        rows = token_rows(40)
        np.testing.assert_array_equal(run(rows, model=BERT, pooling="mean"), self.command(rows, BERT, "--pooling", "mean"))
        tokens = run_final(pa.array(rows), model=BERT, pooling="none")
        self.assertEqual([len(tokens.row(row)) for row in range(3)], [len(row) for row in rows[:3]])

    def test_a_generator_of_many_batches_is_read_once(self):
        drawn = []
        count = 3 * 8192 + 5
        vectors = run((drawn.append(row) or f"text {row % 100}" for row in range(count)), model=STATIC)
        self.assertEqual((len(vectors), len(drawn)), (count, count))
        np.testing.assert_array_equal(vectors[-5:], vectors[(count - 5) % 100 + 100:][:5])

    def test_the_texts_file_is_kept_if_it_has_the_same_content(self):
        table = pa.table({"body": TEXTS})
        run(table.to_reader(max_chunksize=2), model=STATIC)
        path = self.directories()[0] / "texts.arrow"
        before = path.stat()
        run(table, model=STATIC)  # the same rows in other batches would be a file of another size
        self.assertEqual((path.stat().st_ino, path.stat().st_size), (before.st_ino, before.st_size))
        path.write_bytes(path.read_bytes()[:-20])  # damaged
        np.testing.assert_array_equal(run(table.to_reader(max_chunksize=2), model=STATIC), run(TEXTS, model=STATIC))
        self.assertEqual(path.stat().st_size, before.st_size)

    def test_no_texts_give_an_empty_matrix(self):
        for source in ([], iter([]), pandas.DataFrame({"t": pandas.Series([], dtype=object)}), pa.table({"t": pa.array([], "string")})):
            self.assertEqual(run(source, model=STATIC, field="t" if hasattr(source, "columns") else None).shape, (0, 10))

    def test_a_null_is_an_error_or_is_left_out_with_a_warning(self):
        for nulls in (pandas.DataFrame({"t": ["one", None, float("nan"), pandas.NA, "two"]}),
                      polars.DataFrame({"t": ["one", None, None, None, "two"]}), ["one", None, float("nan"), None, "two"]):
            with self.assertRaises(EncodeError) as raised:
                run(nulls, model=STATIC)
            self.assertEqual((raised.exception.code, raised.exception.exit_code), ("arrow.null", 65))
            self.assertRegex(raised.exception.where, r"texts\.arrow:2$")
            with self.assertWarnsRegex(UserWarning, "3 of 5 rows have no vector"):
                vectors = run(nulls, model=STATIC, bad_row="reject")
            np.testing.assert_array_equal(vectors, run(["one", "two"], model=STATIC))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run(["one", "two"], model=STATIC, bad_row="reject")

    def test_what_is_no_text_is_refused_with_its_row(self):
        for source, message in ((["a", 3], "row 1 of the texts: expected a str, found int"),
                                (["a"] * 9000 + [3.5], "row 9000 of the texts: expected a str, found float"),
                                (["a", "\ud800"], "row 1 of the texts is not valid Unicode"),
                                (pandas.DataFrame({"t": ["a", 3]}), "name the column of the texts"),
                                (pandas.DataFrame({"t": [1, 2]}), "name the column of the texts"),
                                (pandas.DataFrame({"t": ["a"], "u": ["b"]}), "2 of the columns 't', 'u' have strings"),
                                (b"text", "found bytes"), ({"t": ["a"]}, "found dict"), (7, "found int"),
                                ([[1, 2], "a"], "not all lists of token ids"),
                                (datasets.DatasetDict({"train": datasets.Dataset.from_dict({"t": ["a"]})}), "'train'")):
            with self.subTest(message), self.assertRaisesRegex((TypeError, ValueError), message):
                run(source, model=STATIC)
        with self.assertRaisesRegex(TypeError, "'t' is int64, not strings"):
            run(pandas.DataFrame({"t": [1, 2]}), model=STATIC, field="t")
        self.assertEqual(list(encode_embeddings.cache_folder().iterdir()), [])


class Outputs(Case):
    def test_a_table_has_the_columns_that_were_asked_for(self):
        frame = pandas.DataFrame({"name": ["x", "y"], "number": [3, 4], "body": ["one", "two"]})
        for kind in ("parquet", "arrow"):
            table = run(frame, model=STATIC, field="body", output_format=kind, columns=["row", "text", "n=number", "name"])
            self.assertIsInstance(table, pa.Table)
            self.assertEqual(table.drop(["embedding"]).to_pydict(),
                             {"row": [0, 1], "text": ["one", "two"], "n": ["3", "4"], "name": ["x", "y"]})
            vectors = table["embedding"].combine_chunks().flatten().to_numpy().reshape(2, -1)
            np.testing.assert_array_equal(vectors, run(["one", "two"], model=STATIC))
        # Another value in a column that is not the text is another content.
        changed = run(frame.assign(number=[3, 5]), model=STATIC, field="body", output_format="arrow", columns=["number"])
        self.assertEqual(changed["number"].to_pylist(), ["3", "5"])

    def test_an_output_is_where_the_caller_wants_it(self):
        output = self.folder / "out.npy"
        vectors = run(["one", "two"], model=STATIC, output=output, output_dtype="float16")
        self.assertEqual(vectors.dtype, np.float16)
        np.testing.assert_array_equal(vectors, np.load(output))
        cache = self.folder / "chosen"
        for text in ("one", "two"):  # other texts in a directory that has a run are the program's error
            if text == "one":
                run([text], model=STATIC, cache_dir=cache)
            else:
                with self.assertRaises(EncodeError):
                    run([text], model=STATIC, cache_dir=cache)


class Errors(Case):
    def test_a_wrong_key_is_found_before_a_text_is_read(self):
        drawn = []
        texts = (drawn.append(row) or "x" for row in range(3))
        with self.assertRaises(EncodeError) as raised:
            run(texts, model=STATIC, poling="mean")
        error = raised.exception
        self.assertEqual((error.code, error.exit_code, error.found, error.hint, error.resumable, drawn),
                         ("config.key", 64, "'poling'", "did you mean semantic.pooling?", False, []))
        self.assertIn("  hint      did you mean semantic.pooling?", str(error))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.hint, again.exit_code), (str(error), error.hint, error.exit_code))
        for settings, code, hint in (({"semantic": {"poling": 1}}, "config.key", "pooling"),
                                     ({"pooling": "men"}, "config.value", "mean"),
                                     ({"output_format": "csv"}, "config.value", "parquet")):
            with self.assertRaises(EncodeError) as raised:
                run(["x"], model=STATIC, **settings)
            self.assertEqual(raised.exception.code, code)
            self.assertIn(hint, str(raised.exception))
        with self.assertRaisesRegex(TypeError, "input_format or output_format"):
            run(["x"], model=STATIC, format="csv")

    def test_an_error_of_the_run_has_its_parts(self):
        with self.assertRaises(EncodeError) as raised:
            run(["x"], model=self.folder / "nothing")
        self.assertEqual((raised.exception.code, raised.exception.exit_code), ("model.not_found", 66))

    def test_without_pyarrow_the_error_says_what_to_install(self):
        program = ("import sys; sys.modules['pyarrow'] = None; sys.path.insert(0, sys.argv[1])\n"
                   "import encode_embeddings; encode_embeddings.run(['x'], model=sys.argv[2])")
        done = subprocess.run([sys.executable, "-B", "-c", program, ROOT / "python", STATIC], capture_output=True, text=True)
        self.assertIn("ImportError", done.stderr)
        self.assertIn("pip install 'encode_embeddings[parquet]'", done.stderr)


class Torch(Case):
    def setUp(self):
        super().setUp()
        self.torch = self.folder / "torch"
        self.torch.mkdir()
        self.set_version("2.9.1+cpu")
        os.environ["TORCH_ROOT"] = str(self.torch)
        self.addCleanup(os.environ.pop, "TORCH_ROOT")

    def set_version(self, version):
        (self.torch / "version.py").write_text(f"__version__ = '{version}'\n")

    def install(self, *workers):
        """Makes an installation with workers that write their names into a file, and returns the path of its program."""
        for name, text in [("bin/encode", f'exec {ENCODE} "$@"'), *(
                (f"lib/encode/{name}", f'echo {name} >>{self.folder}/started; exec {pathlib.Path(ENCODE).parent}/encode-worker "$@"')
                for name in workers)]:
            path = self.folder / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        os.environ["ENCODE_PROGRAM"] = str(self.folder / "tree/bin/encode")
        self.addCleanup(os.environ.update, {"ENCODE_PROGRAM": ENCODE})
        return os.environ["ENCODE_PROGRAM"]

    def started(self):
        path = self.folder / "started"
        return path.read_text().split() if path.exists() else []

    def test_another_torch_is_refused(self):
        with self.assertRaises(EncodeError) as raised:
            run(["x"], model=STATIC)
        error = raised.exception
        self.assertEqual((error.code, error.expected, error.found, error.exit_code),
                         ("python.torch", "torch 2.11", "torch 2.9.1+cpu", 69))
        self.set_version("2.11.3+cpu")
        self.assertIsNone(_program.choose_worker(ENCODE, dict(os.environ)))

    def test_a_program_that_is_not_encode_is_refused(self):
        for program in ("/bin/false", "/bin/true", self.folder / "absent"):
            os.environ["ENCODE_PROGRAM"] = str(program)
            self.addCleanup(os.environ.update, {"ENCODE_PROGRAM": ENCODE})
            with self.assertRaises(EncodeError) as raised:
                run(["x"], model=STATIC)
            self.assertEqual(raised.exception.code, "python.program")

    def test_the_worker_for_the_torch_is_started(self):
        self.install("encode-worker-2.9", "encode-worker-2.10", "encode-worker-2.9.old")
        vectors = run(["x"], model=STATIC)
        self.assertEqual(self.started(), ["encode-worker-2.9"])
        self.set_version("2.10.0")
        run(["y"], model=STATIC)
        self.assertEqual(self.started()[1:], ["encode-worker-2.10"])
        # The command does the same, and the torch of the build needs no other worker.
        for version, more in (("2.9.1", ["encode-worker-2.9"]), ("2.11.0", [])):
            self.set_version(version)
            before = self.started()
            (self.folder / "x.txt").write_text("x\n")
            subprocess.run([sys.executable, "-B", "-m", "encode_embeddings", "run", "--model", STATIC, "--input", self.folder / "x.txt",
                            "--output", self.folder / "x.npy", "--overwrite", "--fresh", "--quiet"], check=True,
                           env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
            self.assertEqual(self.started()[len(before):], more)
            np.testing.assert_array_equal(np.load(self.folder / "x.npy"), vectors)

    def test_only_the_same_series_has_a_worker(self):
        self.install("encode-worker-2.9", "encode-worker-2.10")
        for version in ("2.90.0", "2.1.0", "1.9.0", "2.8.0a0+git"):
            self.set_version(version)
            with self.assertRaises(EncodeError) as raised:
                run(["x"], model=STATIC)
            self.assertEqual((raised.exception.expected, raised.exception.found), ("torch 2.9 or 2.10 or 2.11", f"torch {version}"))
        self.assertEqual(self.started(), [])

    def test_a_worker_of_the_user_stays(self):
        program = self.install("encode-worker-2.9", "mine")
        os.environ["ENCODE_WORKER"] = str(pathlib.Path(program).parents[1] / "lib/encode/mine")
        self.addCleanup(os.environ.pop, "ENCODE_WORKER")
        for version in ("2.9.1", "2.7.0"):
            self.set_version(version)
            run([version], model=STATIC)
        self.assertEqual(self.started(), ["mine", "mine"])


class Interruptions(Case):
    def setUp(self):
        super().setUp()
        self.rows = token_rows(SLOW_ROWS)
        self.settings = {"model": BERT, "pooling": "mean", "device": "cpu", "threads": 1, "chunk_size": 50}

    def when_a_chunk_is_committed(self, action):
        """Calls `action` with the id of the child when a chunk log has a line, in a thread."""
        def watch():
            while not any(path.stat().st_size for path in encode_embeddings.cache_folder().glob("*/*_chunks/chunks.log")):
                time.sleep(0.01)
            action(child_of(os.getpid()))
        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        return thread

    def finish(self):
        """The same call continues the run, and gives the bits of the command."""
        kept = len(list(encode_embeddings.cache_folder().glob("*/*_chunks/chunk_*.npy")))
        self.assertGreater(kept, 0)
        self.assertEqual(len(self.directories()), 1)
        calls = []
        vectors = run(self.rows, progress=lambda *state: calls.append(state), **{**self.settings, "threads": 2})
        self.assertEqual(calls[-1], (SLOW_ROWS, SLOW_ROWS, 0))
        self.assertEqual(len(self.directories()), 1)
        log = (self.directories()[0] / "encode.log").read_text()
        self.assertRegex(log, r"resum|of \d+ chunks")
        np.testing.assert_array_equal(vectors, self.command(self.rows, BERT, "--pooling", "mean"))

    def test_a_run_goes_on_after_its_program_was_killed(self):
        self.when_a_chunk_is_committed(lambda pid: os.kill(pid, signal.SIGKILL))
        with self.assertRaises(EncodeError) as raised:
            run(self.rows, **self.settings)
        self.assertEqual((raised.exception.code, raised.exception.exit_code, raised.exception.resumable),
                         ("python.signal", 137, True))
        self.finish()

    def test_a_run_goes_on_after_control_c_to_this_process_alone(self):
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        self.when_a_chunk_is_committed(lambda pid: os.kill(os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            run(self.rows, **self.settings)
        self.assertIsNone(child_of(os.getpid()))
        self.finish()

    def test_an_error_of_the_progress_function_ends_the_program(self):
        def fail(done, total, seconds_left):
            raise ZeroDivisionError
        with self.assertRaises(ZeroDivisionError):
            run(self.rows, progress=fail, **self.settings)
        self.assertIsNone(child_of(os.getpid()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
