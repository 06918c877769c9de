"""Tests scripts/gpu/: each step of gpu_check.py has a result in the report, whatever happens in it, and a failed run says why."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/gpu"))
import run

LONG_SECONDS = 600


class Steps(unittest.TestCase):
    def run_steps(self, *functions, seconds):
        """Returns the lines of the report, as its file has them."""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            self.report = run.Report(pathlib.Path(folder))
            run.run_steps(functions, self.report, seconds)
            return self.report.path.read_text().splitlines()

    def test_a_step_that_raises_fails_and_the_next_one_runs(self):
        def wrong():
            raise KeyError("tokens")

        def right():
            self.report.check("speed", True, "5")

        self.assertEqual(self.run_steps(wrong, right, seconds=LONG_SECONDS),
                         ["| wrong | FAIL | KeyError: 'tokens' |", "| speed | PASS | 5 |"])
        self.assertEqual(self.report.failed, ["wrong"])

    def test_a_step_that_does_not_end_is_stopped_and_the_others_say_that_they_did_not_run(self):
        def endless():
            subprocess.run(["sleep", str(LONG_SECONDS)])

        def late():
            self.report.check("late", True, "")

        started = time.monotonic()
        lines = self.run_steps(endless, late, seconds=0.2)
        self.assertLess(time.monotonic() - started, LONG_SECONDS / 10)
        self.assertRegex(lines[0], "endless . FAIL . TimeoutError: stopped")
        self.assertRegex(lines[1], "late . FAIL . TimeoutError: not run")
        self.assertEqual(self.report.failed, ["endless", "late"])

    def test_the_time_ends_no_program_after_the_steps(self):
        self.run_steps(lambda: None, seconds=0.2)
        time.sleep(0.5)


class Failure(unittest.TestCase):
    def test_it_is_the_exit_code_and_the_code_of_the_error(self):
        events = [{"event": "chunk_done"}, {"event": "error", "code": "vectors.all_bad"}]
        self.assertEqual(run.failure(events, 65), "exit code 65 vectors.all_bad")
        self.assertEqual(run.failure([], -9), "exit code -9")


if __name__ == "__main__":
    unittest.main()
