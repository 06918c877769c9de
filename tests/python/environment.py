"""What the tests of encode_embeddings need before their imports. They run in the environment .deps/python, which scripts/setup.sh
makes."""
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = sys.argv[1] if sys.argv[1:] else str(ROOT / "build/bin/encode")
PYTHON = ROOT / ".deps/python/bin/python"


class FolderCase(unittest.TestCase):
    """A case with a folder of its own, in which the user's cache also is."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "xdg")
        self.addCleanup(os.environ.pop, "XDG_CACHE_HOME")


def enter():
    """Runs the test again in the environment, where encode_embeddings can be imported and finds the program ENCODE.

    The exit code is 77 if there is no environment; ctest then shows the test as skipped.
    """
    if sys.prefix == sys.base_prefix:  # not in an environment
        if not PYTHON.exists():
            print(f"skipped: no {PYTHON}")
            sys.exit(77)
        os.execv(PYTHON, [PYTHON, "-B", *sys.argv])
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["ENCODE_PROGRAM"] = ENCODE
