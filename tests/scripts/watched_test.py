"""Tests watched() of scripts/lib.sh: a long command shows that it goes on, and its output only if it fails."""
import os
import pathlib
import pty
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A second of show_progress() takes 10 ms here.
SCRIPT = f"set -euo pipefail; . '{ROOT}/scripts/lib.sh'; sleep() {{ command sleep 0.01; }}; {{}}"


def bash(script, **options):
    return subprocess.run(["bash", "-c", SCRIPT.replace("{}", script)], text=True, **options)


class Watched(unittest.TestCase):
    def run_piped(self, script):
        return bash(script, capture_output=True)

    def test_a_pipe_gets_a_line_from_time_to_time(self):
        done = self.run_piped("watched packages bash -c 'echo first; echo second; command sleep 1'; echo after")
        self.assertEqual((done.returncode, done.stdout), (0, "after\n"))
        lines = done.stderr.splitlines()
        self.assertIn(len(lines), range(1, 5), done.stderr)
        for line in lines:
            self.assertRegex(line, r"^   packages: \d s, second$")

    def test_a_short_command_is_silent(self):
        done = self.run_piped("watched packages true")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_failure_shows_the_output_and_ends_the_script(self):
        done = self.run_piped("watched packages bash -c 'echo why; exit 7'; echo after")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "why\nerror: this command failed: bash -c echo why; exit 7\n")

    def test_a_function_that_fails_in_the_middle_fails(self):
        self.assertEqual(self.run_piped("f() { false && true; }; watched packages f").returncode, 1)

    def test_a_captured_output_does_not_wait_for_the_progress(self):
        done = self.run_piped("sleep() { command sleep 5; }; x=$(watched packages true; echo 3); echo $x-$SECONDS")
        self.assertRegex(done.stdout, "^3-[012]\n")

    def test_a_terminal_gets_one_line_that_is_redrawn_and_removed(self):
        ours, theirs = pty.openpty()
        command = "echo a line that is wider than the terminal; command sleep 0.5"
        bash(f"stty cols 30 <&2; watched packages bash -c '{command}'", stderr=theirs)
        os.close(theirs)
        text = os.read(ours, 65536).decode()
        os.close(ours)
        self.assertNotIn("\n", text)
        drawn = text.split("\r\033[K")
        self.assertRegex(drawn[1], "^   packages: [0-9]+ s, a line that$")
        self.assertEqual(drawn[-1], "")


if __name__ == "__main__":
    unittest.main()
