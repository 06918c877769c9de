"""Runs the reader in docs/store-format.md on a cache that `encode` has written.

    store_format_test.py PATH_OF_ENCODE
"""
import ctypes
import ctypes.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = sys.argv.pop(1) if sys.argv[1:] else str(ROOT / "build/bin/encode")
TEXT = (ROOT / "docs/store-format.md").read_text()
MODEL = ROOT / "tests/data/models/distilbert"


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def stand_in_for_xxhash():
    """Returns a module with the function of the package xxhash that the reader uses. Debian's libxxhash computes it."""
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH3_128bits.restype = Hash128
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def hexdigest(data):
        value = library.XXH3_128bits(data, len(data))
        return f"{value.high:016x}{value.low:016x}"

    module = types.ModuleType("xxhash")
    module.xxh3_128_hexdigest = hexdigest
    return module


def reader():
    """Returns a namespace with the functions of the reader."""
    sys.modules["xxhash"] = stand_in_for_xxhash()
    code, = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile(code, "store-format.md", "exec"), names)
    return types.SimpleNamespace(**names)


class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reader = reader()
        cls.folder = tempfile.TemporaryDirectory()
        cls.made = pathlib.Path(cls.folder.name) / "made"
        cls.made.mkdir()
        rows = [{"ids": [(7 * row + token) % 100 + 1 for token in range(row + 2)]} for row in range(10)]
        (cls.made / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        for name, pooling in (("rows", "mean"), ("tokens", "none")):
            subprocess.run([ENCODE, "run", "--model", MODEL, "--input", cls.made / "rows.jsonl", "--field", "ids", "--output",
                            cls.made / f"{name}.npy", "--cache-dir", cls.made / name, "--device", "cpu", "--pooling", pooling,
                            "--chunk-size", "4", "--max-length", "8", "--keep-chunks"], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.root = pathlib.Path(self.folder.name) / "copy"
        shutil.copytree(self.made, self.root)
        self.addCleanup(shutil.rmtree, self.root)

    def chunks(self, name):
        return self.reader.committed_chunks(self.root / name / f"{name}_chunks")

    def test_chunks_in_order_are_the_final(self):
        import numpy
        for name in ("rows", "tokens"):
            chunks = self.chunks(name)
            self.assertEqual(sorted(chunks), [(0, 4), (4, 8), (8, 10)])
            joined = numpy.concatenate([chunks[rows] for rows in sorted(chunks)])
            self.assertTrue(numpy.array_equal(joined, self.reader.final(self.root / f"{name}.npy")), name)

    def test_a_changed_bit_in_a_file_of_a_chunk_is_noticed(self):
        for name in ("chunk_0001.npy", "chunk_0001.offsets.npy", "chunk_0001.truncated.jsonl"):
            path = self.root / "tokens/tokens_chunks" / name
            content = path.read_bytes()
            path.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
            self.assertEqual(sorted(self.chunks("tokens")), [(0, 4), (8, 10)], name)
            path.write_bytes(content)

    def test_a_record_with_other_facts_is_noticed(self):
        log = self.root / "rows/rows_chunks/chunks.log"
        lines = log.read_text().splitlines()
        record = json.loads(lines[0])
        self.assertEqual(record["index"], 0)
        for change in ({"rows": [0, 5]}, {"index": 3}, {"file_bytes": 1}, {"stream": "0" * 32}, {"offsets": record["stats"]}):
            log.write_text("\n".join([self.seal({**record, **change}), *lines[1:]]) + "\n")
            self.assertEqual(sorted(self.chunks("rows")), [(4, 8), (8, 10)], change)
        log.write_text("\n".join([self.seal(record), *lines[1:]]) + "\n")
        self.assertEqual(len(self.chunks("rows")), 3)

    def test_a_changed_bit_in_a_final_is_noticed(self):
        for name in ("tokens.npy", "tokens.offsets.npy", "tokens.truncated.jsonl", "tokens.npy.manifest.json"):
            path = self.root / name
            content = path.read_bytes()
            path.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
            with self.assertRaises(self.reader.Damaged, msg=name):
                self.reader.final(self.root / "tokens.npy")
            path.write_bytes(content)

    @staticmethod
    def seal(record):
        rest = json.dumps({key: value for key, value in record.items() if key != "checksum"}, sort_keys=True,
                          separators=(",", ":"), ensure_ascii=False)[1:]
        return f'{{"checksum":"{sys.modules["xxhash"].xxh3_128_hexdigest(rest.encode())}",{rest}'


if __name__ == "__main__":
    unittest.main()
