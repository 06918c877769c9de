"""Tests scripts/gpu/gpu_check.py and what its steps are made of: every step has a line in the report, whatever happens in it; a
killed step leaves no process; a timing is long enough; the plan of docs/gpu.md fits its machine."""
import contextlib
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/gpu"))
import checks
import context
import gpu_check
import kernel_times
import limited
import shapes
import speed

LONG_SECONDS = 600
# Takes the place of gpu_check.py --run-step. Each step does what its name says.
STEP_PROGRAM = f'''
import pathlib, subprocess, sys, time
sys.path.insert(0, {str(ROOT / "scripts/gpu")!r})
from context import Results
found = Results(pathlib.Path(sys.argv[sys.argv.index("--entries") + 1]))
name = sys.argv[2]
found.table("speed", "model", "tokens/s")
found.row("minilm", 1234567)
if name == "hangs":
    child = subprocess.Popen(["sleep", "{LONG_SECONDS}"], start_new_session=True)
    pathlib.Path(sys.argv[0]).with_name("child").write_text(str(child.pid))
    time.sleep({LONG_SECONDS})
elif name == "crashes":
    sys.exit("KeyError: 'tokens'")
elif name == "is_wrong":
    found.table("parity")
    found.check("minilm | bert", False, "max difference 1")
elif name == "is_missing":
    found.skipped("no compute-sanitizer")
else:
    found.headline("61.2 % MFU")
'''


def step(name, limit=LONG_SECONDS, least=0):
    return gpu_check.Step(name, "", limit, least, f"what {name} does")


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Steps(TemporaryFolder):
    def run_steps(self, *steps, budget=LONG_SECONDS):
        """Returns (names of the bad steps, report.json, lines of report.md)."""
        program = self.folder / "step.py"
        program.write_text(STEP_PROGRAM)
        args = types.SimpleNamespace(program=pathlib.Path("encode"), output=self.folder / "out", steps=steps, budget=budget,
                                     limit_scale=1, quick=False, started="2026-01-01")
        with mock.patch.object(gpu_check, "STEP_PROGRAM", program), contextlib.redirect_stdout(io.StringIO()) as self.printed:
            bad = gpu_check.run_steps(args, self.folder / "work")
        return bad, json.loads((args.output / "report.json").read_text()), (args.output / "report.md").read_text().splitlines()

    def test_a_step_that_fails_does_not_end_the_others(self):
        bad, report, lines = self.run_steps(step("crashes"), step("is_wrong"), step("is_missing"), step("is_right"))
        self.assertEqual(bad, ["crashes", "is_wrong"])
        self.assertEqual([(found["step"], found["state"]) for found in report["steps"]],
                         [("crashes", "failed"), ("is_wrong", "failed"), ("is_missing", "skipped"), ("is_right", "passed")])
        self.assertIn("| crashes | FAIL | exit code 1: KeyError: 'tokens' |", lines)
        self.assertIn("| minilm \\| bert | FAIL | max difference 1 |", lines)
        self.assertRegex("\n".join(lines), r"\| is_missing \| skipped \| [\d.]+ \| no compute-sanitizer \|")
        self.assertRegex("\n".join(lines), r"\| is_right \| passed \| [\d.]+ \| 61.2 % MFU \|")
        self.assertRegex(lines[-1], r"^2 failed; \d+ s in all$")

    def test_a_step_that_hangs_is_killed_with_its_children_and_its_figures_are_kept(self):
        started = time.monotonic()
        bad, report, lines = self.run_steps(step("hangs", limit=1), step("is_right"))
        self.assertLess(time.monotonic() - started, LONG_SECONDS / 10)
        self.assertEqual(bad, ["hangs"])
        self.assertEqual([found["state"] for found in report["steps"]], ["timed out", "passed"])
        self.assertEqual(report["steps"][0]["tables"][0]["rows"], [["minilm", 1234567]])
        self.assertIn("| minilm | 1,234,567 |", lines)
        self.assertIn("| hangs | FAIL | stopped after 1 s |", lines)
        self.assertFalse(alive(int((self.folder / "child").read_text())))

    def test_a_step_that_no_longer_fits_is_not_run(self):
        bad, report, lines = self.run_steps(step("hangs"), step("is_right", least=10), budget=1)
        self.assertEqual(bad, ["hangs", "is_right"])
        self.assertEqual([found["state"] for found in report["steps"]], ["timed out", "not run"])
        self.assertRegex("\n".join(lines), r"\| is_right \| FAIL \| 0 s are left of the budget, and the step needs 10 s")

    def test_each_step_has_its_log_and_the_end_of_a_bad_one_is_printed(self):
        self.run_steps(step("crashes"), step("is_right"))
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()),
                         ["crashes.log", "is_right.log", "report.json", "report.md"])
        self.assertIn("KeyError: 'tokens'", self.printed.getvalue())


class Limited(TemporaryFolder):
    def test_processes_that_a_program_leaves_behind_are_ended(self):
        log = self.folder / "log"
        ended = limited.run_limited(["sh", "-c", f"setsid sleep {LONG_SECONDS} & echo $!; exit 3"], LONG_SECONDS, log)
        self.assertEqual((ended.code, ended.timed_out, ended.survivors), (3, False, ()))
        self.assertFalse(alive(int(log.read_text())))

    def test_a_long_log_keeps_its_beginning_and_its_end(self):
        log = self.folder / "log"
        log.write_bytes(b"first" + b"-" * 1000 + b"last")
        limited.shorten(log, 100)
        content = log.read_bytes()
        self.assertLess(len(content), 200)
        self.assertTrue(content.startswith(b"first") and content.endswith(b"last"), content)


class TheResults(TemporaryFolder):
    def test_a_line_that_was_being_written_is_left_out(self):
        path = self.folder / "entries"
        with contextlib.redirect_stdout(io.StringIO()):
            context.Results(path).table("speed", "model")
        with path.open("a") as file:
            file.write('{"row": ["mini')
        self.assertEqual(context.read_results(path)["tables"], [{"title": "speed", "header": ["model"], "rows": []}])

    def test_figures_that_are_missing_are_dashes(self):
        with contextlib.redirect_stdout(io.StringIO()):
            context.Results(self.folder / "entries").table("speed", "model")
            context.Results(self.folder / "entries").row("minilm", float("nan"), None, 61.234567)
        row = context.read_results(self.folder / "entries")["tables"][0]["rows"][0]
        self.assertEqual(context.markdown_row(row), "| minilm | - | - | 61.23 |")

    def test_tables_of_another_script_are_taken_over(self):
        with contextlib.redirect_stdout(io.StringIO()):
            context.Results(self.folder / "entries").markdown("cost", "| rows | mode |\n|---|---|\n| 100 | standard |\n\nFAIL")
        self.assertEqual(context.read_results(self.folder / "entries")["tables"],
                         [{"title": "cost", "header": ["rows", "mode"], "rows": [["100", "standard"]]}])


class Allocator(unittest.TestCase):
    """Between chunks the working set of a batch stays reserved, and nothing at the end of a stream."""
    IN_USE = 240

    def bad_checks(self, *unused_mib):
        """Returns the names of the checks that fail for chunks after which so much memory is unused."""
        found = mock.Mock()
        checks.allocator(found, [{"device_allocated_bytes": self.IN_USE * checks.MIB,
                                  "device_reserved_bytes": (self.IN_USE + mib) * checks.MIB} for mib in unused_mib])
        return [call.args[0] for call in found.check.call_args_list if not call.args[1]]

    def test_a_working_set_may_stay(self):
        self.assertEqual(self.bad_checks(400, 400, 480, 20), [])
        self.assertEqual(self.bad_checks(10), [], "a single chunk")

    def test_more_may_not(self):
        self.assertEqual(len(self.bad_checks(400, 520, 400, 20)), 1)
        self.assertEqual(len(self.bad_checks(400, 400, 400)), 1, "at the end of the stream")


class Plan(unittest.TestCase):
    """The plan of docs/gpu.md: a machine that runs a command for ten minutes and returns eight files."""
    CALL_SECONDS = 600
    FILES = 8
    REPORTS = 2

    def test_the_steps_of_a_list_run_in_the_order_of_the_plan(self):
        self.assertEqual([step.name for step in gpu_check.chosen("throughput,facts")], ["facts", "throughput"])
        self.assertEqual(gpu_check.chosen(""), list(gpu_check.STEPS))
        with self.assertRaisesRegex(ValueError, "no step 'fast'; the steps are facts,"):
            gpu_check.chosen("facts,fast")

    def test_the_calls_reach_each_step_and_fit_the_machine(self):
        page = (ROOT / "docs/gpu.md").read_text()
        calls = re.findall(r"^scripts/gpu_check.sh .*--budget (\d+) --steps (\S+)$", page, re.MULTILINE)
        expected = {name: int(seconds) for name, seconds in re.findall(r"^\| (\w+) \| (\d+) \| \d+ \|", page, re.MULTILINE)}
        self.assertEqual(set(expected), set(gpu_check.BY_NAME))
        reached = set()
        for budget, names in calls:
            steps = gpu_check.chosen(names)
            reached |= {step.name for step in steps}
            self.assertLess(int(budget), self.CALL_SECONDS)
            self.assertLessEqual(sum(expected[step.name] for step in steps), int(budget), names)
            self.assertLessEqual(len(steps) + self.REPORTS, self.FILES, names)
        self.assertEqual(reached, set(gpu_check.BY_NAME))

    def test_the_page_and_the_help_name_the_limits_and_the_steps(self):
        limits = re.findall(r"^\| (\w+) \| \d+ \| (\d+) \|", (ROOT / "docs/gpu.md").read_text(), re.MULTILINE)
        self.assertEqual(limits, [(step.name, str(step.limit)) for step in gpu_check.STEPS])
        help_text = (ROOT / "scripts/gpu_check.sh").read_text()
        self.assertEqual(re.findall(r"^#   (\w+) {3,}", help_text, re.MULTILINE), [step.name for step in gpu_check.STEPS])


class Speeds(unittest.TestCase):
    def test_the_operations_of_a_token_are_those_of_the_layers(self):
        # 6 layers: 4 x 384 x 384 weights of attention and 2 x 384 x 1536 of the MLP; then 4 x 384 x 128 for attention.
        self.assertEqual(shapes.flops_per_token("minilm", 128), 6 * (2 * (4 * 384**2 + 2 * 384 * 1536) + 4 * 384 * 128))
        # Causal attention needs half, and 2 of 12 heads have keys and values.
        weights = 1536 * (2 * 1536 + 2 * 256) + 3 * 1536 * 8960
        self.assertEqual(shapes.flops_per_token("qwen2-1.5b", 512), 28 * (2 * weights + 2 * 1536 * 512))

    def test_the_mfu_is_the_share_of_the_peak_of_the_card(self):
        peak = shapes.card_peak("cuda:0 (NVIDIA H100 80GB HBM3)")
        self.assertEqual(peak, 989e12)
        self.assertEqual(shapes.card_peak("NVIDIA H100 PCIe"), 756e12)
        rate = 0.6 * peak / shapes.flops_per_token("bert-base", 512)
        self.assertAlmostEqual(shapes.mfu_percent("bert-base", 512, rate, peak), 60)
        self.assertIsNone(shapes.mfu_percent("bert-base", 512, rate, shapes.card_peak("a card of next year")))

    def test_a_timing_has_enough_windows_and_seconds(self):
        least = context.Timing(seconds=5, windows=20)
        self.assertEqual(speed.rows_for(least, 512, tokens_per_second=500e3), 20 * 512)  # a window has 512 rows of 512 tokens
        self.assertEqual(speed.rows_for(least, 30, tokens_per_second=300e3), 20 * 4096)  # or 4,096 rows
        self.assertGreaterEqual(speed.rows_for(least, 512, tokens_per_second=10e6) * 512, 5 * 10e6)

    def test_a_slow_model_gets_fewer_windows_and_at_least_a_row(self):
        least = context.Timing(seconds=5, windows=20)
        self.assertLessEqual(speed.rows_for(least, 512, tokens_per_second=100e3) * 512, 15 * 100e3)
        self.assertEqual(speed.rows_for(least, 512, tokens_per_second=1), 1)

    def test_a_timing_that_was_too_short_is_repeated_with_more_rows(self):
        rows = []

        def run(context, name, row_tokens, count, environment):
            rows.append(count)
            return speed.Timed(count, count * row_tokens, count * row_tokens / 20e6, {}, (), "")

        fake = types.SimpleNamespace(timing=context.Timing(5, 20), quick=False)
        with mock.patch.object(speed, "timed_run", run):
            timed = speed.timing(fake, "minilm", 512)
        self.assertEqual(len(rows), 2)
        self.assertGreaterEqual(timed.seconds, 5)

    def test_rows_have_the_tokens_and_are_distinct(self):
        texts = context.sized_texts(["one", "three", "two"], [1, 3, 2], 5)
        tokens = {"one": 1, "three": 3, "two": 2}
        found = [next(texts) for _ in range(10)]
        self.assertEqual(len(set(found)), 10)
        self.assertTrue(all(sum(tokens[word] for word in text.split()[1:]) >= 5 for text in found), found)

    def test_the_clocks_are_the_medians_of_the_samples_of_the_timing(self):
        sampled = context.Clocks()
        lines = ["345, 2619, 70.1, 40, 0x1", "1700, 2619, 600, 50, 0x4", "[N/A], 1, 1, 1, 0x0", "1900, 2619, 640, 60, 0x0"]
        sampled.samples = [(moment, numbers) for moment, line in enumerate(lines) if (numbers := context.parse_clocks(line))]
        self.assertEqual(sampled.between(1, 3), (1800, 2619, 620, 55, "0x4"))
        self.assertEqual(sampled.between(5, 6), (None,) * len(context.CLOCK_HEADER))


class Runs(unittest.TestCase):
    def test_a_failure_is_the_exit_code_and_the_code_of_the_error(self):
        events = [{"event": "chunk_done"}, {"event": "error", "code": "vectors.all_bad"}]
        self.assertEqual(context.Run(events, None, 65).failure(), "exit code 65 vectors.all_bad")
        self.assertEqual(context.Run([], None, -9).failure(), "exit code -9")

    def test_the_time_is_that_of_the_main_thread(self):
        events = [{"event": "stream_done", "seconds": {"rows awaited": 1, "encode": 4, "commit awaited": 2, "tokenize": 3}},
                  {"event": "stream_done", "rows": 100}]
        self.assertEqual(context.encoding_seconds(context.Run(events, None, 0).stages()), 7)


class KernelTimes(TemporaryFolder):
    def test_a_trace_without_its_last_line_is_read(self):
        path = self.folder / "1.tsv"
        path.write_text("name\t0\tvoid encode::norm<float>(float*)\nspan\t30\t40\t0\nspan\t10\t20\t0\nspan\t50\t")
        trace = kernel_times.read_trace(path)
        self.assertEqual(trace.names, {0: "void encode::norm<float>(float*)"})
        self.assertEqual(trace.spans, [(10, 20, 0), (30, 40, 0)])

    def test_the_device_is_busy_once_while_two_kernels_run(self):
        self.assertEqual(kernel_times.busy([(0, 10, 0), (2, 5, 1), (8, 20, 0), (30, 40, 1)]), 30)

    def test_a_kernel_has_its_share_of_the_time(self):
        rows, share = kernel_times.summary([(0, 30_000, 0), (40_000, 50_000, 1), (60_000, 100_000, 0)],
                                           {0: "void encode::norm<float>(float*)", 1: "copy to the host"})
        self.assertEqual(rows, [("norm<float>", 2, 35.0, 0.7), ("copy to the host", 1, 10.0, 0.1)])
        self.assertEqual(share, 0.8)


class Peers(TemporaryFolder):
    def summary(self, *rows):
        found = context.Results(self.folder / "entries")
        with contextlib.redirect_stdout(io.StringIO()):
            found.table("peers", *speed.PEER_HEADER)
            for row in rows:
                found.row(*row)
            speed.summarize_peers(found)
        return context.read_results(found.path)["headline"]

    def test_without_any_peer_the_step_is_skipped_with_the_reason(self):
        with self.assertRaisesRegex(context.Skipped, "No module named 'sentence_transformers'"):
            self.summary(("compile minilm", "SKIP", "No module named 'sentence_transformers'"))

    def test_a_missing_peer_leaves_the_figures_of_the_others(self):
        row = ("packed", "minilm", 512, 64, 32, 5.1, 1000, 1.5)
        self.assertEqual(self.summary(("compile minilm", "SKIP", "no compiler"), (*row, 1.5), (*row, 1.2), (*row, None)),
                         "encode is 1.2 to 1.5 times as fast as these peers")


class Sanitizer(TemporaryFolder):
    def run_sanitizer(self, output):
        """Runs the step with a compute-sanitizer that prints `output`. Returns the results."""
        (self.folder / "tests").mkdir()
        tool = f"echo '{output}'\ncase '{output}' in *0*) ;; *) exit 77 ;; esac"
        for name, text in (("tests/gpu_kernels_test", ""), ("compute-sanitizer", tool)):
            path = self.folder / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        entries = context.Results(self.folder / "entries")
        variables = {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        with mock.patch.dict(os.environ, variables), contextlib.redirect_stdout(io.StringIO()):
            checks.sanitizer(types.SimpleNamespace(bundle=self.folder), entries)
        return context.read_results(self.folder / "entries")

    def test_errors_fail_the_check(self):
        found = self.run_sanitizer("========= ERROR SUMMARY: 2 errors")
        self.assertEqual(found["failed"], ["memcheck", "racecheck"])
        self.assertIn("2 errors", found["tables"][0]["rows"][0][2])

    def test_no_errors_pass(self):
        self.assertEqual(self.run_sanitizer("========= RACECHECK SUMMARY: 0 hazards displayed")["failed"], [])

    def test_a_test_that_is_skipped_is_not_good(self):
        self.assertFalse(checks.judged(0, ["[  PASSED  ] 1 test.", "[  SKIPPED ] GpuKernels.One"])[0])


if __name__ == "__main__":
    unittest.main()
