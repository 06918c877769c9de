"""Tests what the program prints about itself: the help of every command, and errors of the command line.

    help_test.py ENCODE
"""
import re
import subprocess
import sys
import unittest

ENCODE = sys.argv[1]


def run(*words):
    return subprocess.run([ENCODE, *words], capture_output=True, text=True)


def help_of(*path):
    return run(*path, "--help").stdout


def paths():
    """Returns the words of every command: [(), ("run",), ..., ("cache", "stats"), ...]."""
    found = [()]
    for path in found:
        text = help_of(*path)
        if "\nCommands:\n" in text:
            names = re.findall(r"^  ([a-z][a-z-]*)", text.split("\nCommands:\n")[1].split("\n\n")[0], re.MULTILINE)
            found += [(*path, name) for name in names]
    return found


class Help(unittest.TestCase):
    def test_no_line_is_wider_than_80_columns(self):
        found = paths()
        self.assertGreater(len(found), 20)
        for path in found:
            for line in help_of(*path).splitlines():
                self.assertLessEqual(len(line), 80, f"encode {' '.join(path)}: {line}")

    def test_no_types_of_the_parser_are_shown(self):
        for path in paths():
            self.assertNotRegex(help_of(*path), r"\b(INT|UINT|FLOAT|Excludes|REQUIRED|SUBCOMMAND)\b")

    def test_the_flags_of_encoding_are_shown_by_the_commands_that_encode(self):
        for name in ("run", "retry-failed", "bench"):
            self.assertIn("--memory-pressure-percent", help_of(name))
        for name in ("status", "verify", "config", "preflight", "plan"):
            text = help_of(name)
            self.assertNotIn("--pooling", text)
            self.assertIn("The other options of `encode run` are valid here, too", text)

    def test_a_flag_that_the_help_does_not_show_is_accepted(self):
        end = run("verify", "--pooling", "cls")
        self.assertIn("no matrix is named", end.stderr)

    def test_help_is_a_command(self):
        self.assertEqual(run("help").stdout, help_of())
        self.assertEqual(run("help", "cache", "prune").stdout, help_of("cache", "prune"))
        self.assertEqual(run("help", "nonsense").returncode, 64)

    def test_the_short_flag_of_the_version(self):
        self.assertEqual(run("-V").stdout, run("version").stdout)


class Errors(unittest.TestCase):
    def error(self, *words):
        end = run(*words)
        self.assertEqual(end.returncode, 64, end)
        self.assertNotRegex(end.stderr, r"\w+Error\b")
        self.assertLessEqual(max(map(len, end.stderr.splitlines())), 200)
        return end.stderr

    def test_a_missing_argument_shows_the_usage(self):
        self.assertIn("expected  encode compare [OPTIONS] A B", self.error("compare"))

    def test_a_missing_command_lists_the_commands(self):
        self.assertIn("one of: stats, verify, clear, prune", self.error("cache"))

    def test_an_unknown_first_flag_points_to_the_help_of_the_program(self):
        self.assertIn("see encode --help", self.error("-x"))
        self.assertIn("did you mean --model?", self.error("--modle", "x"))

    def test_a_swapped_letter_in_a_command_is_found(self):
        self.assertIn("did you mean run?", self.error("rnu"))

    def test_a_file_without_a_flag_gets_its_flag(self):
        self.assertIn("give the file as encode run --input texts.txt", self.error("texts.txt"))
        self.assertIn("give the file as encode run --config e.yaml", self.error("e.yaml"))
        self.assertIn("give the file as --input a.jsonl.gz", self.error("run", "--model", "m", "a.jsonl.gz"))
        self.assertIn("give the file as --input a.csv", self.error("plan", "a.csv"))
        for words in (("texts",), ("run", "texts"), ("completions", "bash", "a.csv")):
            self.assertNotIn("--input", self.error(*words))

    def test_several_files_are_one_input(self):
        hint = "give a pattern in quotes, as in --input 'part-*.jsonl'"
        twice = self.error("run", "--input", "a.txt", "--input", "b.txt")
        self.assertIn("--input is given more than once", twice)
        self.assertIn("'a.txt', 'b.txt'", twice)
        self.assertIn(hint, twice)
        self.assertIn(hint, self.error("run", "--input", "a.txt", "b.txt"))
        other = self.error("run", "--dtype", "fp16", "--dtype", "bf16")
        self.assertIn("leave out all but one", other)
        self.assertNotIn(hint, other)

    def test_a_flag_of_one_letter_gets_the_long_one(self):
        for short, long in (("-m", "--model"), ("-i", "--input"), ("-o", "--output"), ("-f", "--field")):
            self.assertIn(f"did you mean {long}?", self.error("run", short, "x"))
            self.assertIn(f"did you mean {long}?", self.error(short, "x"))
        self.assertNotIn("did you mean", self.error("run", "-z"))

    def test_a_command_without_its_subject_points_to_its_own_help(self):
        for name in ("status", "verify"):
            self.assertIn(f"see encode {name} --help", self.error(name))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
