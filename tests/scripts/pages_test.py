"""Runs the code blocks of README.md, of the tutorial and of the how-to pages, and checks that check_pages.py finds what is wrong.

    pages_test.py PATH_OF_ENCODE

The exit code is 77 if the demo model is missing; ctest then shows the test as skipped.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = sys.argv.pop(1) if sys.argv[1:] else str(ROOT / "build/bin/encode")
TUTORIAL = ROOT / "docs/tutorial.md"
PAGES = [ROOT / "README.md", TUTORIAL, *sorted((ROOT / "docs/howto").glob("*.md"))]
MODEL = ROOT / ".deps/models/all-MiniLM-L6-v2"


def check(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "tests/scripts/check_pages.py", "--encode", ENCODE, *arguments],
                          capture_output=True, text=True)


class Checker(unittest.TestCase):
    def page(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text(text)
            return check(*arguments, path)

    def test_a_right_page_passes(self):
        text = ("```sh\nexport x=3\nmkdir f\ncd f\n```\n"
                "```sh\necho $x; echo a; basename $PWD\n```\n\n```text\n3\n...\nf\n```\n```yaml\nx: 1\n```\n")
        done = self.page(text)
        self.assertEqual((done.returncode, done.stdout), (0, "page.md: 2 blocks are right\n"))

    def test_a_page_starts_in_a_clone_and_has_nothing_else(self):
        self.assertEqual(self.page("```sh\ntest -x build/bin/encode\ntest -f .deps/models/*/config.json\n```\n").returncode, 0)
        for missing in ("ls model", "echo $CLONE"):
            self.assertEqual(self.page(f"```sh\n{missing}\n```\n").returncode, 1, missing)

    def test_another_output_is_found(self):
        done = self.page("```sh\necho 2\n```\n\n```text\n3\n```\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("page.md:1: the page says:\n3\nthe block prints:\n2\n", done.stdout)

    def test_a_block_that_fails_is_found(self):
        for block in ("```sh\nfalse\n```\n", "```sh\nfalse | true\n```\n"):
            self.assertEqual(self.page(block).returncode, 1, block)

    def test_what_is_not_there_is_not_run(self):
        text = "<!-- needs: moon -->\n```sh\nfalse\n```\n"
        self.assertIn("not run, because it needs moon", self.page(text).stdout)
        self.assertEqual(self.page(text, "--with", "moon").returncode, 1)

    def test_blocks_for_a_clone_run_here_and_those_for_a_package_do_not(self):
        text = "<!-- needs: {} -->\n```sh\nfalse\n```\n"
        self.assertEqual(self.page(text.format("clone")).returncode, 1)
        done = self.page(text.format("package"))
        self.assertEqual((done.returncode, done.stdout), (0, "page.md:2: not run, because it needs package\npage.md: 0 blocks are right\n"))


class Pages(unittest.TestCase):
    def test_the_tutorial_reads_a_csv_file_with_a_long_text(self):
        reader = re.search(r"(?ms)^cat >books\.py <<'END'\n(.*?)^END$", TUTORIAL.read_text())[1]
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "books.py").write_text(reader)
            (pathlib.Path(folder) / "books.csv").write_text(f'id,text\n1,"{"a " * 200_000}"\n')
            program = "import books; print(len(books.read_books()[0]['text']))"
            done = subprocess.run([sys.executable, "-B", "-c", program], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.stdout, "400000\n", done.stderr)

    def test_a_page_installs_what_its_python_needs(self):
        checked = 0
        for page in (*(ROOT / "docs").rglob("*.md"), ROOT / "python/README.md"):
            text = page.read_text()
            installed = " ".join(re.findall(r"pip install .*", text))
            code = "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```$", text))
            if not installed or not code:
                continue
            needed = set(re.findall(r"(?m)^(?:import|from) (\w+)", code)) - set(sys.stdlib_module_names)
            if ".to_numpy(" in code:  # pyarrow has this function, but does not install NumPy
                needed.add("numpy")
            needed = {name.replace("encode_reader", "./python") for name in needed}
            self.assertEqual([name for name in needed if name not in installed], [], page.name)
            checked += 1
        self.assertGreaterEqual(checked, 2)

    def test_the_tutorial_works_with_the_csv_file_of_a_spreadsheet(self):
        text = TUTORIAL.read_text()
        head = "id,title,text"
        self.assertEqual(text.count(f"\n{head}\n"), 1)
        text = re.sub(r"(?m)^((?:echo ')?\d+),(\w+),(?=\")", r"\1;\2;", text).replace(f"\n{head}\n", "\n\ufeffid;title;text\n")
        self.assertEqual(len(re.findall(r"(?m)^(?:echo ')?\d+;\w+;\"", text)), 7)
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "tutorial.md"
            page.write_text(text)
            done = check(page)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_blocks_do_what_the_pages_say(self):
        done = check(*PAGES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    if not MODEL.exists():
        print(f"skipped: {MODEL} is missing; run scripts/models.sh")
        sys.exit(77)
    unittest.main()
