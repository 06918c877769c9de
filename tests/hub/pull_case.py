"""What the tests of `encode pull` share. Each of them is called with the path of the program."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import layout
import server

ENCODE = sys.argv.pop(1)
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
MODEL = "org/name"
EVERY_MODULE = server.read_directory(DATA / "sentence_transformers/every_module")
# What a repository has beside the files that an encoder needs.
NOISE = {"README.md": b"card", ".gitattributes": b"*", "pytorch_model.bin": b"pickle", "onnx/model.onnx": b"onnx",
         "onnx/config.json": b"{}", "openvino/openvino_model.xml": b"<x/>", "tf_model.h5": b"h5",
         "1_Pooling/notes.txt": b"x", "model.fp16.safetensors": b"variant", "With space (1).md": b"x"}
NEEDED = {name: content for name, content in EVERY_MODULE.items() if name not in ("texts.txt", "embeddings.npy")}


class Ended:
    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr


class Pull(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.cache = self.home / "cache/hub"
        self.hub = server.Hub({MODEL: server.Repository({**EVERY_MODULE, **NOISE})})
        self.addCleanup(self.hub.close)

    def environment(self, variables):
        # A proxy of this machine must not get the requests for 127.0.0.1.
        values = {"HOME": str(self.home), "HF_HOME": str(self.home / "cache"), "HF_ENDPOINT": self.hub.address,
                  "HF_HUB_ETAG_TIMEOUT": "30", "HF_HUB_DOWNLOAD_TIMEOUT": "30", "no_proxy": "*",
                  "PATH": os.environ["PATH"]}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                values[name] = os.environ[name]
        return {name: value for name, value in (values | variables).items() if value is not None}

    def encode(self, *arguments, **variables):
        return Ended(subprocess.run([ENCODE, *arguments], env=self.environment(variables), capture_output=True,
                                    text=True, timeout=100, check=False))

    def pull(self, model=MODEL, *arguments, **variables):
        return self.encode("pull", model, *arguments, **variables)

    def pulled(self, *arguments, **variables):
        """Pulls, and returns the snapshot after a check of the whole cache."""
        end = self.pull(*arguments, **variables)
        self.assertEqual(end.code, 0, end.err)
        layout.check(self.cache)
        self.assertEqual(list(self.cache.rglob("*.incomplete")), [])
        return pathlib.Path(end.out.strip())

    def refused(self, code, exit_code, *arguments, **variables):
        """Pulls, expects the error, and returns its text. No ref may lead to an incomplete model."""
        end = self.pull(*arguments, **variables)
        self.assertRegex(end.err, rf"(?m)^error\[{re.escape(code)}\]")
        self.assertEqual(end.code, exit_code, end.err)
        for field in ("where", "expected", "found", "hint"):
            self.assertRegex(end.err, rf"\n  {field} +\S")
        self.assertEqual(end.out, "")
        if self.cache.exists():
            layout.check(self.cache)
            self.assertEqual([path for path in self.cache.glob("models--*/refs/**/*") if path.is_file()], [])
        return end.err
