"""Tests the progress of encode_embeddings.run() with stand-ins for a terminal and a notebook; scripts/soak/notebook.sh runs a real
one.

    progress_test.py
"""
import contextlib
import io
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from encode_embeddings import _progress  # noqa: E402  (its folder is only now in the path)
from encode_embeddings._progress import Progress  # noqa: E402


class ZMQInteractiveShell:
    """The name that IPython gives the shell of a notebook."""


class Shell(ZMQInteractiveShell):
    """As in Google Colab."""


class TerminalInteractiveShell:
    pass


class Display:
    """Stands for IPython.display, and keeps the outputs of a cell."""

    def __init__(self):
        self.outputs = []
        self.updates = 0

    Pretty = str

    def display(self, text, display_id):
        self.outputs.append(text)
        return types.SimpleNamespace(update=self.update)

    def update(self, text):
        self.updates += 1
        self.outputs[-1] = text


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Notebook(unittest.TestCase):
    def setUp(self):
        self.display = Display()
        self.shell = ZMQInteractiveShell()
        ipython = types.ModuleType("IPython")
        ipython.get_ipython = lambda: self.shell
        ipython.display = self.display
        sys.modules.update({"IPython": ipython, "IPython.display": self.display})
        self.addCleanup(lambda: [sys.modules.pop(name) for name in ("IPython", "IPython.display")])

    def test_a_cell_has_one_output(self):
        for self.shell in (ZMQInteractiveShell(), Shell()):
            self.display.outputs.clear()
            progress = Progress(None)
            for done in range(1000):
                progress.update(done, 999, 1)
            progress.close()
            self.assertEqual(self.display.outputs, ["encode [########################] 100% 999/999 rows, 1 s left"])

    def test_the_same_line_is_sent_once(self):
        progress = Progress(None)
        for _ in range(1000):
            progress.update(3, 999, 1)
        self.assertEqual(self.display.updates, 0)
        progress.update(4, 999, 1)
        self.assertEqual(self.display.updates, 1)

    def test_python_in_a_terminal_is_no_notebook(self):
        for self.shell in (TerminalInteractiveShell(), None):
            self.assertIsNone(_progress.notebook_display())


class Elsewhere(unittest.TestCase):
    def shown(self, stream, option):
        with contextlib.redirect_stderr(stream):
            progress = Progress(option)
            for done in range(100):
                progress.update(done, 99)
            progress.close()
        return stream.getvalue()

    def test_a_terminal_has_one_line_that_is_removed(self):
        text = self.shown(Terminal(), None)
        self.assertNotIn("\n", text)
        self.assertTrue(text.endswith("\r\033[K"))
        self.assertEqual(self.shown(Terminal(), False), "")

    def test_a_file_has_lines_only_if_they_are_wanted(self):
        self.assertEqual(self.shown(io.StringIO(), None), "")
        self.assertEqual(self.shown(io.StringIO(), True).count("\n"), 1)  # one in ten seconds

    def test_a_function_gets_every_state(self):
        states = []
        self.shown(io.StringIO(), lambda *state: states.append(state))
        self.assertEqual((len(states), states[-1]), (100, (99, 99, -1)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
