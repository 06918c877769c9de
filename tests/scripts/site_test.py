"""Checks that scripts/site.sh refuses mistakes in docs/, the hook for lists, and the links of the pages outside docs/."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lint"))
from commonmark import for_python_markdown  # noqa: E402

CONFIG = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[0]
INSTALLED = any(not folder.name.endswith(".partial") for folder in (ROOT / ".deps").glob("mkdocs-*"))


@unittest.skipUnless(INSTALLED, "mkdocs is not installed: run scripts/lint.sh")
class Site(unittest.TestCase):
    def build(self, page):
        """Builds a site of two pages with the settings of mkdocs.yml."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "docs").mkdir()
            (folder / "docs/index.md").write_text(f"# One\n\n{page}\n")
            (folder / "docs/other.md").write_text("# Other\n\n## A part\n")
            hook = f"hooks: [{ROOT}/scripts/lint/commonmark.py]"
            (folder / "mkdocs.yml").write_text(re.sub("^hooks: .*$", hook, CONFIG, flags=re.MULTILINE)
                                               + "\nnav: [index.md, other.md]\n")
            return subprocess.run([ROOT / "scripts/site.sh", "--config", folder / "mkdocs.yml", folder / "site"],
                                  capture_output=True, text=True)

    def refused(self, page, message):
        done = self.build(page)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(message, done.stdout + done.stderr)

    def test_good_links_are_accepted(self):
        self.assertEqual(self.build("[part](other.md#a-part) and [page](other.md)").returncode, 0)

    def test_a_dead_link_is_refused(self):
        self.refused("[gone](gone.md)", "gone.md")

    def test_a_dead_anchor_is_refused(self):
        self.refused("[part](other.md#no-part)", "#no-part")
        self.refused("[here](#no-part)", "#no-part")

    def test_a_link_out_of_docs_is_refused(self):
        self.refused("[readme](../README.md)", "../README.md")

    def test_something_from_another_host_is_refused(self):
        self.refused('![image](https://example.org/image.png)', "example.org/image.png")


class Lists(unittest.TestCase):
    def test_a_list_begins_after_a_paragraph_and_nests(self):
        self.assertEqual(for_python_markdown("Text:\n- a\n  goes on\n  - b\n- c\n\nEnd"),
                         "Text:\n\n- a\n    goes on\n    - b\n- c\n\nEnd")

    def test_a_block_in_an_item_is_indented(self):
        self.assertEqual(for_python_markdown("1. a\n\n   | x |\n   |---|\n\nEnd"), "1. a\n\n    | x |\n    |---|\n\nEnd")

    def test_code_stays_as_it_is(self):
        code = "```\nText:\n- a\n  - b\n```"
        self.assertEqual(for_python_markdown(code), code)

    def test_the_words_after_a_language_are_the_title(self):
        self.assertEqual(for_python_markdown("```cpp src/a.cc\n```"), '```cpp title="src/a.cc"\n```')


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL),
                          re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def relative_links(text):
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    return [link for link in links if not re.match(r"\w+:", link)]


def dead_links(page, text):
    """Yields the relative links of a page outside docs/ that lead nowhere."""
    for link in relative_links(text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


class Index(unittest.TestCase):
    def test_it_links_every_page(self):
        linked = {link.partition("#")[0] for link in relative_links((ROOT / "docs/index.md").read_text())}
        pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
        self.assertEqual(pages - linked, {"index.md"})

    def test_the_readme_links_it_and_what_a_new_user_needs(self):
        linked = set(relative_links((ROOT / "README.md").read_text()))
        needed = ("index", "tutorial", "install", "inputs", "outputs", "models", "pull", "preflight", "planning", "search",
                  "config", "errors", "troubleshooting")
        self.assertEqual({f"docs/{name}.md" for name in needed} - linked, set())


class OtherPages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "python/README.md", "tests/data/README.md"):
            page = ROOT / name
            self.assertEqual(list(dead_links(page, page.read_text())), [], name)

    def test_a_dead_link_and_a_dead_anchor_are_noticed(self):
        text = "[a](docs/gone.md) [b](docs/errors.md#gone) [c](docs/errors.md#exit-codes)"
        self.assertEqual(list(dead_links(ROOT / "README.md", text)), ["docs/gone.md", "docs/errors.md#gone"])


if __name__ == "__main__":
    unittest.main()
