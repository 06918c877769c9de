"""Tests how scripts/make_corpus.py cuts sources and changelogs into texts."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import make_corpus

SOURCE = '''
import os

@decorated
def first(a):
    def inner():
        pass
    return inner

class Case:
    async def second(self):
        """Doc."""

if os.name == "posix":
    def third(): return 3
'''

CHANGELOG = '''encode (1.2-1) unstable; urgency=medium

  * First line,
    its continuation.
    - and a part of it
  * Second.

 -- Nobody <nobody@example.org>  Mon, 01 Jan 2024 00:00:00 +0000

\t* lib/a.c (f): GNU style,
\tcontinued.
no entry
'''


class Functions(unittest.TestCase):
    def functions(self, source):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.py"
            path.write_text(source)
            return list(make_corpus.functions(path))

    def test_are_methods_and_functions_with_decorators_and_not_those_inside(self):
        texts = dict(self.functions(SOURCE))
        self.assertEqual(list(texts), ["first", "second", "third"])
        self.assertTrue(texts["first"].startswith("@decorated\ndef first(a):\n    def inner():"))
        self.assertTrue(texts["second"].startswith("async def second(self):"))

    def test_of_a_broken_file_are_none(self):
        self.assertEqual(self.functions("def broken(:\n"), [])


class Changelogs(unittest.TestCase):
    def test_have_one_entry_a_bullet(self):
        self.assertEqual(list(make_corpus.changelog_entries(CHANGELOG)), [
            "First line,\nits continuation.\n- and a part of it", "Second.", "lib/a.c (f): GNU style,\ncontinued."])


if __name__ == "__main__":
    unittest.main()
