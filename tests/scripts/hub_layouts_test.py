"""Tests scripts/reference/hub_layouts: the coverage page is what the tables make, and names every model that `encode models` names.

usage: hub_layouts_test.py [ENCODE]    without a program, only the tables and the page are tested
"""
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/reference/hub_layouts"))
import check
import layout

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else None
ENTRIES = layout.repositories()
LEAST_CONFIRMED = 60


class Tables(unittest.TestCase):
    def test_no_repository_is_there_twice(self):
        names = [entry["repository"] for entry in ENTRIES]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_every_state_is_known_and_every_refusal_has_a_reason(self):
        for entry in ENTRIES:
            with self.subTest(entry["repository"]):
                self.assertIn(entry["state"], ("works", "works by recipe", "refused"))
                if entry["state"] == "refused":
                    self.assertTrue(entry["reason"])
                    self.assertIn(entry["error"]["exit"], (66, 78))

    def test_a_difference_between_the_versions_names_the_other_version_and_a_reason(self):
        for entry in ENTRIES:
            for version, reason in entry.get("differs", {}).items():
                with self.subTest(entry["repository"]):
                    self.assertNotEqual(int(version), entry.get("follows", 5))
                    self.assertTrue(reason)

    def test_enough_layouts_that_work_have_a_public_source(self):
        working = [entry for entry in ENTRIES if entry["state"] != "refused"]
        self.assertGreaterEqual(sum(map(check.confirmed, working)), LEAST_CONFIRMED)

    def test_the_page_is_what_the_tables_make(self):
        self.assertEqual(check.PAGE.read_text(), check.page_text(ENTRIES), f"{check.__file__} --write-page makes it")


@unittest.skipUnless(PROGRAM, "needs the path of encode")
class Models(unittest.TestCase):
    def test_every_model_that_encode_names_is_in_the_table_and_works(self):
        architectures = json.loads(subprocess.run([PROGRAM, "models", "--json"], check=True, capture_output=True, text=True).stdout)
        states = {entry["repository"].split("/")[-1]: entry["state"] for entry in ENTRIES}
        for architecture in architectures:
            for name in architecture["examples"]:
                with self.subTest(name):
                    self.assertIn(states.get(name), ("works", "works by recipe"))


if __name__ == "__main__":
    unittest.main()
