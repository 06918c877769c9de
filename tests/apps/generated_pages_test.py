"""Compares the pages of docs/ with what `encode reference` prints, and the parts of the reference with one another.

    generated_pages_test.py ENCODE

A page has the reference of a subject between two comments, `<!-- encode reference SUBJECT: begin -->` and `... end -->`. With
ENCODE_REFRESH=1 the test writes the pages first.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

ENCODE = sys.argv[1]
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PART = re.compile(r"(<!-- encode reference ([\w-]+): begin -->\n)(.*?)(?=<!-- encode reference \2: end -->\n)", re.DOTALL)


def run(*words):
    return subprocess.run([ENCODE, "reference", *words], capture_output=True, text=True)


def printed(subject):
    return run(subject).stdout


def data(subject):
    return json.loads(run(subject, "--json").stdout)


def refreshed(text, reference=printed):
    """Returns a page with the present texts between its comments."""
    return PART.sub(lambda part: part[1] + reference(part[2]), text)


class Pages(unittest.TestCase):
    def test_the_pages_have_what_the_program_prints(self):
        found = set()
        for page in sorted(DOCS.rglob("*.md")):
            text = page.read_text()
            found |= {part[2] for part in PART.finditer(text)}
            if os.environ.get("ENCODE_REFRESH") == "1":
                page.write_text(refreshed(text))
            self.assertTrue(page.read_text() == refreshed(text), f"run ENCODE_REFRESH=1 {' '.join(sys.argv)} and commit {page}")
        self.assertEqual(found, {"commands", "config", "errors", "exit-codes"})

    def test_control_a_page_with_another_text_is_found(self):
        page = "a\n<!-- encode reference x: begin -->\nold\n<!-- encode reference x: end -->\nb\n"
        self.assertEqual(refreshed(page, lambda subject: f"new {subject}\n"), page.replace("old", "new x"))

    def test_an_unknown_subject_is_refused(self):
        self.assertEqual(run("nonsense").returncode, 64)


class Parts(unittest.TestCase):
    def test_every_flag_of_the_config_sets_a_key(self):
        keys = {f"{section}.{key['name']}": key for key in data("config") for section in key["sections"]}
        flags = {flag["names"][-1]: flag for flag in data("commands")["config_flags"]}
        for name in ("--config", "--set"):  # they set no key, or any
            self.assertNotIn("key", flags.pop(name))
        self.assertGreater(len(flags), 40)
        for name, flag in flags.items():
            self.assertIn(name, keys[flag["key"]]["flags"])
        self.assertEqual(set(flags), {name for key in keys.values() for name in key["flags"]})

    def test_every_command_shows_flags_of_the_config_that_exist(self):
        commands = data("commands")
        flags = {name for flag in commands["config_flags"] for name in flag["names"]}
        shown = {name for command in commands["commands"] for name in command["shown_config_flags"]}
        self.assertEqual(shown - flags, set())
        self.assertGreater(len(shown), 40)

    def test_every_command_has_a_chapter(self):
        text = printed("commands")
        for command in data("commands")["commands"]:
            self.assertIn(f"# encode {' '.join(command['path'])}\n", text)

    def test_every_error_says_what_to_do(self):
        for row in data("errors"):
            self.assertTrue(row["meaning"] and row["recovery"], row["codes"])

    def test_the_exit_codes_of_errors_are_explained(self):
        explained = {row["code"] for row in data("exit-codes") if row["meaning"] and row["run_again"]}
        self.assertEqual(explained, {0} | {code for row in data("errors") for code in row["exits"]})

    def test_the_codes_that_a_page_explains_exist(self):
        codes = {code for row in data("errors") for code in row["codes"]}
        named = set(re.findall(r"\(`(\w+\.\w+)`", (DOCS / "troubleshooting.md").read_text()))
        self.assertGreater(len(named), 15)
        self.assertEqual(named - codes, set())

    def test_the_architectures_are_those_of_the_command_models(self):
        models = subprocess.run([ENCODE, "models", "--json"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(data("architectures"), json.loads(models))
        for entry in data("architectures"):
            self.assertIn(f"| `{entry['model_type']}` |", printed("architectures"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
