"""Tests what the program prints about itself: the help of every command, and errors of the command line.

    help_test.py ENCODE
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

ENCODE = sys.argv[1]


def run(*words):
    return subprocess.run([ENCODE, *words], capture_output=True, text=True)


def on_terminal(columns, *words, stdout=False):
    """Returns the lines that a command prints on standard error, or on standard output, if that is a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    streams = {"stdout": theirs if stdout else subprocess.DEVNULL, "stderr": subprocess.DEVNULL if stdout else theirs}
    subprocess.run([ENCODE, *words], **streams, env=dict(os.environ, TERM="xterm"))
    os.close(theirs)
    text = b""
    try:
        while block := os.read(ours, 4096):
            text += block
    except OSError:  # Linux reports the end of a pseudo terminal in this way
        pass
    os.close(ours)
    return text.decode().replace("\r", "").splitlines()


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

    def test_the_help_of_a_run_begins_with_what_a_run_needs(self):
        text = help_of("run")
        self.assertNotIn("The other options of", text)
        places = [text.index(f"  {name} ") for name in ("--model", "--input", "--field", "--output", "--device")]
        self.assertEqual(places, sorted(places))
        self.assertLess(places[-1], text.index("--help"))
        for name in ("retry-failed", "bench"):
            self.assertNotIn("The other options of", help_of(name))

    def test_defaults_are_shown(self):
        entries = [" ".join(entry.split()) for entry in re.split(r"\n  (?=-)", help_of("run"))]
        for option in ("--dtype", "--device", "--batch-size", "--chunk-size", "--log-level", "--format", "--output",
                       "--pooling", "--max-length"):
            of_option = [entry for entry in entries if entry.startswith(option + " ")]
            self.assertEqual(len(of_option), 1, option)
            self.assertRegex(of_option[0], r"default: [^)]+\)", option)
        self.assertNotIn("(default: null)", " ".join(entries))

    def test_few_choices_are_listed(self):
        for path, choices in ((("tokenize",), "--special-tokens by_class|as_in_tokenizer_json"),
                              (("search",), "--device auto|cpu|cuda"), (("completions",), "bash, zsh or fish"),
                              (("reference",), "commands, config, errors, exit-codes or architectures"),
                              (("run",), "--log-level trace|debug|info|warning|error")):
            self.assertIn(choices, " ".join(help_of(*path).split()))

    def test_the_defaults_are_printed_without_a_config(self):
        end = run("config", "--print", "--dtype", "bfloat16")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertRegex(end.stdout, r"(?m)^  chunk_size: \d+ +# default$")
        self.assertRegex(end.stdout, r"(?m)^  dtype: bfloat16 +# --dtype$")
        self.assertRegex(end.stdout, r"(?m)^  model: path/to/model +# an example")
        self.assertEqual(run("config", "--all", "--dtype", "bfloat16").stdout, end.stdout)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(end.stdout)
            file.flush()
            self.assertIn("dtype: bfloat16", run("config", "--config", file.name).stdout)
        self.assertEqual(run("config", "--print", "--format", "lines").returncode, 0)

    def test_reports_fit_a_terminal_of_80_columns(self):
        model = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "models", "bert")
        for words in (("models",), ("preflight", "--verbose"), ("plan", "--gpu", "list"), ("plan", "--model", model),
                      ("plan", "--model", model, "--gpu-memory", "24"), ("plan", "--model", model, "--gpu", "A10", "--rows", "90000000")):
            lines = on_terminal(80, *words, stdout=True)
            self.assertGreater(len(lines), 1, words)
            self.assertLess(max(map(len, lines)), 80, words)

    def test_the_list_of_the_models_fits_a_terminal_also_through_a_pipe(self):
        lines = run("models").stdout.splitlines()
        self.assertLess(max(map(len, lines)), 80)
        self.assertEqual(lines, on_terminal(80, "models", stdout=True))

    def test_only_the_given_settings_are_printed(self):
        end = run("config", "--model", "m", "--input", "a.txt", "--dtype", "bfloat16")
        settings = [line.split(" #")[0].strip() for line in end.stdout.splitlines() if ": " in line.split(" #")[0]]
        self.assertEqual(settings, ["model: m", "dtype: bfloat16", "file: a.txt"])
        self.assertIn("--all shows them", end.stdout)

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
        self.assertLessEqual(max(map(len, end.stderr.splitlines())), 240)
        return end.stderr

    def test_a_missing_argument_shows_the_usage(self):
        self.assertIn("expected  encode compare [OPTIONS] A B", self.error("compare"))

    def test_a_missing_command_lists_the_commands(self):
        self.assertIn("one of: stats, verify, clear, prune", self.error("cache"))

    def test_a_value_that_is_not_valid_is_named_with_the_values_that_are(self):
        for words, flag, expected, found in ((("search", "x.npy", "y", "-k", "0"), "-k", "a value in range 1 to 10000", "'0'"),
                                             (("bench", "--runs", "x"), "--runs", "a value in range 1 to 1000", "'x'"),
                                             (("merge", "--parts", "two"), "--parts", "a value in {many,one}", "'two'"),
                                             (("run", "--field"), "--field", "--field NAME", "no value")):
            message = self.error(*words)
            for line in (f"where     {flag}\n", f"expected  {expected}\n", f"found     {found}\n"):
                self.assertIn(line, message, words)

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
        self.assertIn("did you mean --log-level debug, or encode --version?", self.error("run", "-v"))
        self.assertIn("did you mean --log-level debug, or encode --version?", self.error("-v"))
        # A command without the usual option gets one that it has, or none.
        self.assertIn("did you mean --json?", self.error("models", "-j"))
        self.assertNotIn("did you mean", self.error("models", "-v"))

    def test_the_beginning_of_an_option_gets_the_options(self):
        self.assertIn("did you mean --batch-size or --batch-tokens?", self.error("run", "--batch", "4"))
        self.assertIn("did you mean --memory-limit or --memory-pressure-percent?", self.error("--memory", "4GB"))
        self.assertNotIn("product-search", self.error("run", "--product"))

    def test_the_options_of_other_programs_get_ours(self):
        for theirs, ours in (("--precision", "--dtype or --output-dtype"), ("--input-format", "--format"),
                             ("--max_seq_length", "--max-length"), ("--fp16", "--dtype float16"),
                             ("--text-column=t", "--field"), ("--verbose", "--log-level debug")):
            self.assertIn(f"did you mean {ours}?", self.error("run", theirs))

    def test_a_typo_and_a_longer_name_get_the_option(self):
        for typed, meant in (("--output-file", "--output"), ("--input-path=a", "--input"), ("--output-dtpe", "--output-dtype"),
                             ("--chunksize", "--chunk-size"), ("--fields", "--field"), ("-model", "--model"),
                             ("--text-column", "--field")):
            self.assertIn(f"did you mean {meant}?", self.error("run", typed), typed)
        # Only the dashes and two letters are those of --set.
        for typed in ("--sheet", "--foo", "--newest"):
            self.assertNotIn("did you mean", self.error("run", typed), typed)

    def test_the_short_option_of_the_config_is_one_everywhere(self):
        for name in ("run", "status", "verify", "config", "plan", "preflight", "bench", "search", "report"):
            self.assertIn("-c, --config", help_of(name))
        self.assertNotEqual(run("report", "-c", "nowhere.yaml").returncode, 64)

    def test_an_error_lists_the_choices_and_names_the_option(self):
        end = self.error("run", "--model", "m", "--input", "a.txt", "--log-level", "loud")
        self.assertIn("--log-level has a value that is not valid", end)
        self.assertIn("one of: trace, debug, info, warning, error", end)
        needed = ("tokenize", "--model", "m", "--input", "a", "--output", "b")
        self.assertIn("by_class,as_in_tokenizer_json", self.error(*needed, "--special-tokens", "x"))
        self.assertIn("auto, cpu, cuda or cuda:N", self.error("search", "m.npy", "text", "--device", "x"))

    def test_a_terminal_gets_lines_of_its_width(self):
        words = ("run", "--model", "m", "--input", "a.txt", "b.txt")
        piped = self.error(*words)
        self.assertGreater(max(map(len, piped.splitlines())), 80)
        for columns in (80, 40):
            lines = on_terminal(columns, *words)
            self.assertEqual(" ".join(" ".join(lines).split()), " ".join(piped.split()))
            self.assertLess(max(map(len, lines)), columns)
            hint = next(i for i, line in enumerate(lines) if line.startswith("  hint"))
            for line in lines[hint + 1:]:
                self.assertRegex(line, r"^ {12}\S")

    def test_a_command_without_its_subject_points_to_its_own_help(self):
        for name in ("status", "verify"):
            self.assertIn(f"see encode {name} --help", self.error(name))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
