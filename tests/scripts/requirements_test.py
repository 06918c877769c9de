"""Tests docs/requirements.md: every test and file that it names exists, and every requirement has one row."""
import fnmatch
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/requirements.md").read_text()
FOLDERS = ("apps", "benchmarks", "configs", "docs", "include", "scripts", "src", "tests")
NEEDS = {"A": 16, "B": 9, "C": 10, "D": 5, "E": 6, "F": 6, "G": 3, "H": 2}


def defined_tests():
    """Returns `Suite.Case` of every test in the sources."""
    macro = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
    return {".".join(match) for path in (ROOT / "tests").rglob("*.cc") for match in macro.findall(path.read_text())}


def named(text):
    """Returns the names between backticks that look like tests, and those that look like files."""
    quoted = [word for words in re.findall(r"`([^`\n]+)`", text) for word in words.split()[:1]]
    files = {word for word in quoted if word.split("/")[0] in FOLDERS}
    tests = {word for word in quoted if re.fullmatch(r"[A-Z]\w*\.[\w*]+", word)}
    return tests, files


def unknown(text):
    tests, files = named(text)
    defined = defined_tests()
    return sorted([name for name in tests if not fnmatch.filter(defined, name)] +
                  [name for name in files if not (ROOT / name).exists()])


class Requirements(unittest.TestCase):
    def test_what_is_named_exists(self):
        tests, files = named(TEXT)
        self.assertGreater(len(tests), 50)
        self.assertGreater(len(files), 10)
        self.assertEqual(unknown(TEXT), [])

    def test_a_test_and_a_file_that_are_gone_are_noticed(self):
        text = "`Run.SecondRunSkipsWhatIsDone`, `Run.SecondRunIsGone`, `Gone.*`, `Run.*`, `docs/gone.md`, `scripts/bench.sh chunks`"
        self.assertEqual(unknown(text), ["Gone.*", "Run.SecondRunIsGone", "docs/gone.md"])

    def test_every_need_has_one_row_that_says_its_state(self):
        for story, count in NEEDS.items():
            for number in range(1, count + 1):
                rows = re.findall(rf"^\| {story}{number} \| [^|]+ \| (\w+)[^|]* \|[^|]*\|$", TEXT, re.MULTILINE)
                self.assertEqual(len(rows), 1, f"{story}{number}")
                self.assertIn(rows[0], ("done", "partly", "open"), f"{story}{number}")


if __name__ == "__main__":
    unittest.main()
