"""Compares the table of messages in docs/troubleshooting.md with the sources, and its code blocks with the table of codes."""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/generate"))
from messages import BEGIN, errors_in  # noqa: E402

TEXT = (ROOT / "docs/troubleshooting.md").read_text()


class Messages(unittest.TestCase):
    def test_the_table_is_the_one_of_the_sources(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "scripts/generate/messages.py", "--check"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_messages_and_hints_are_found(self):
        source = '''throw Error({.exit_code = ExitCode::kData,
            .code = "a.first", .what = fmt::format("no {} of "
            "it", x), .where = w, .hint = "do \\"this\\""});
            return {.code = "a.second", .what = std::move(what)}; const E e = {.code = "a.third", .what = "gone", .found = f};'''
        self.assertEqual(list(errors_in(source)), [("no ... of it", "a.first", 'do "this"'), ("gone", "a.third", "")])

    def test_the_codes_of_the_text_exist(self):
        codes = "".join(path.read_text() for path in (ROOT / "src/base").glob("*error_codes.cc"))
        named = set(re.findall(r"\(`(\w+\.\w+)`", TEXT.split(BEGIN)[0]))
        self.assertGreater(len(named), 15)
        for code in named:
            self.assertIn(f'"{code}"', codes, code)


if __name__ == "__main__":
    unittest.main()
