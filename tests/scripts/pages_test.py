"""Runs the code blocks of the tutorial and of the how-to pages, and checks that check_pages.py finds what is wrong.

    pages_test.py PATH_OF_ENCODE

The exit code is 77 if the demo model is missing; ctest then shows the test as skipped.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = sys.argv.pop(1) if sys.argv[1:] else str(ROOT / "build/bin/encode")
PAGES = [ROOT / "docs/tutorial.md", *sorted((ROOT / "docs/howto").glob("*.md"))]
MODEL = ROOT / ".deps/models/all-MiniLM-L6-v2"


def check(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "scripts/check_pages.py", "--encode", ENCODE, *arguments],
                          capture_output=True, text=True)


class Checker(unittest.TestCase):
    def page(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text(text)
            return check(*arguments, path)

    def test_a_right_page_passes(self):
        text = ("```sh\nexport x=3\n```\n"
                "```sh\necho $x; echo a; echo b\n```\n\n```text\n3\n...\nb\n```\n```python\nprint(1)\n```\n")
        done = self.page(text)
        self.assertEqual((done.returncode, done.stdout), (0, "page.md: 3 blocks are right\n"))

    def test_another_output_is_found(self):
        done = self.page("```sh\necho 2\n```\n\n```text\n3\n```\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("page.md:1: the page says:\n3\nthe block prints:\n2\n", done.stdout)

    def test_a_block_that_fails_is_found(self):
        for block in ("```sh\nfalse\n```\n", "```sh\nfalse | true\n```\n", "```python\nraise ValueError\n```\n"):
            self.assertEqual(self.page(block).returncode, 1, block)

    def test_a_file_is_written(self):
        self.assertEqual(self.page("```yaml a.yaml\nx: 1\n```\n```sh\ncat a.yaml\n```\n```text\nx: 1\n```\n").returncode, 0)

    def test_what_is_not_there_is_not_run(self):
        text = "<!-- needs: moon -->\n```sh\nfalse\n```\n"
        self.assertIn("not run, because it needs moon", self.page(text).stdout)
        self.assertEqual(self.page(text, "--with", "moon").returncode, 1)


class Pages(unittest.TestCase):
    def test_blocks_do_what_the_pages_say(self):
        done = check(*PAGES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    if not MODEL.exists():
        print(f"skipped: {MODEL} is missing; run scripts/models.sh")
        sys.exit(77)
    unittest.main()
