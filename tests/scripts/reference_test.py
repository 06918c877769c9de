"""Compares docs/reference/log-events.md and status.md with the sources and with a run, and the checks of `encode verify` in
docs/store-format.md with the sources.

    reference_test.py PATH_OF_ENCODE
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODE = sys.argv.pop(1) if sys.argv[1:] else str(ROOT / "build/bin/encode")
MODEL = ROOT / "tests/data/models/distilbert"
EVERY_EVENT = {"time", "level", "event", "message"}
# A call that logs an event, with a name that is whole or only begins in the source ("gpu_" + ...).
CALL = re.compile(r'\blog_?\.(?:debug|detail|info|warning|result)\(\s*(?:std::string\()?"(\w+)"')

# A call that adds a finding of `encode verify`.
FINDING = re.compile(r'(?:\.|->)(?:check|warn|check_fingerprint)\(\s*"(\w+)"')


def table_rows(path, first):
    """Returns the cells of the tables whose first column has the heading `first`."""
    rows, inside = [], False
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[0] == first:
            inside = True
        elif inside and not line.startswith("|---"):
            rows.append(cells)
    return rows


def words(cell):
    return set(re.findall(r"`(\w+)`", cell))


def listed_keys(text):
    """Returns the keys in the first cells of the tables of a text."""
    return words(" ".join(line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")))


def documented_events():
    events = {}
    for cells in table_rows(ROOT / "docs/reference/log-events.md", "event"):
        for name in words(cells[0]):
            events.setdefault(name, set()).update(words(cells[2]))
    return events


def events_of(text):
    return set(CALL.findall(text))


class LogEvents(unittest.TestCase):
    def test_the_page_has_the_events_of_the_sources(self):
        found = set()
        for path in (ROOT / "src").rglob("*.cc"):
            found |= events_of(path.read_text())
        found.discard("gpu_")  # the sources make these names from the kinds of trouble
        listed = {name for name in documented_events() if name != "error" and not name.startswith("gpu_")}
        self.assertEqual(found - {"gpu_monitor"}, listed)

    def test_an_event_is_found(self):
        self.assertEqual(events_of('log_.info(\n    "new_event", x); log.detail("other", y); dialog.info("no")'),
                         {"new_event", "other"})


class VerifyChecks(unittest.TestCase):
    def test_the_page_has_the_checks_of_the_sources(self):
        found = set()
        for path in (ROOT / "src/store/verify").glob("*.cc"):
            found |= set(FINDING.findall(path.read_text()))
        listed = set()
        for cells in table_rows(ROOT / "docs/store-format.md", "check"):
            listed |= words(cells[0])
        self.assertEqual(found, listed)

    def test_a_check_is_found(self):
        self.assertEqual(FINDING.findall('findings.check(\n  "one", a); x\n.warn("two", b); check("no"); f.checks("no")'),
                         ["one", "two"])


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "rows.jsonl").write_text("".join(f'{{"ids":[{row + 1},7,{row + 1}]}}\n' for row in range(20)))
        cls.lines = cls.run_json("rows.jsonl", 0) + cls.run_json("gone.jsonl", 66)

    @classmethod
    def run_json(cls, name, exit_code):
        done = subprocess.run([ENCODE, "run", "--model", MODEL, "--input", name, "--field", "ids", "--pooling", "mean",
                               "--output", "out.npy", "--cache-dir", "cache", "--device", "cpu", "--chunk-size", "8",
                               "--embedding-cache", "vectors", "--log-level", "debug", "--json"],
                              cwd=cls.folder, capture_output=True, text=True)
        assert done.returncode == exit_code, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_the_page_has_every_key_of_a_run(self):
        events = documented_events()
        for line in self.lines:
            self.assertEqual(set(line) - EVERY_EVENT - events[line["event"]], set(), line["event"])

    def test_an_event_with_all_its_keys_has_no_others(self):
        for name in ("run_started", "input_scanned", "model_loaded", "summary", "error", "embedding_cache"):
            line = next(line for line in self.lines if line["event"] == name)
            self.assertEqual(documented_events()[name], set(line) - EVERY_EVENT, name)

    def test_the_page_has_the_keys_of_the_status(self):
        first, second = (ROOT / "docs/reference/status.md").read_text().split("\n## status.json\n")
        for text, values in ((first, self.status()), (second, json.loads((self.folder / "cache/status.json").read_text()))):
            self.assertEqual(set(values) - listed_keys(text), set())

    def test_the_page_has_no_other_keys_of_the_command(self):
        text = (ROOT / "docs/reference/status.md").read_text().split("\n### Shards\n")[0]
        self.assertEqual(listed_keys(text), set(self.status()))

    def test_the_page_has_the_keys_of_the_status_of_shards(self):
        text = (ROOT / "docs/reference/status.md").read_text().split("\n### Shards\n")[1].split("\n### ")[0]
        subprocess.run([ENCODE, "shards", "plan", "--shards", "3", "--model", MODEL, "--input", "rows.jsonl", "--field", "ids",
                        "--pooling", "mean", "--cache-dir", "shards"], cwd=self.folder, check=True, capture_output=True)
        self.assertEqual(listed_keys(text), set(self.status("shards")))

    def status(self, cache="cache"):
        done = subprocess.run([ENCODE, "status", cache, "--json"], cwd=self.folder, check=True, capture_output=True)
        return json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
