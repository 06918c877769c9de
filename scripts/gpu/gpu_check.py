#!/usr/bin/env python3
"""Runs the steps of STEPS, each in a process of its own with a limit of time. scripts/gpu_check.sh describes the options.

    gpu_check.py --program ENCODE --output DIR [--work DIR] [--steps LIST] [--budget SECONDS] [--limit-scale N] [--quick]
    gpu_check.py --run-step NAME --options JSON --entries FILE     is the process of one step

The output folder gets report.md, report.json and NAME.log of each step. The reports are written again after each step, so that they
are complete if this program is killed.
"""
import argparse
import datetime
import importlib
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
from dataclasses import dataclass

from context import Context, Results, Skipped, markdown_table, read_results
from limited import end_with_parent, run_limited

STEP_PROGRAM = pathlib.Path(__file__).resolve()
GOOD = ("passed", "skipped")
LOG_LINES_SHOWN = 30
QUICK_NOTE = " Short timings (--quick): they test the script, not the GPU."


@dataclass(frozen=True)
class Step:
    name: str
    run: str  # MODULE:FUNCTION; the function takes a Context and a Results
    limit: int  # seconds after which the step is killed
    least: int  # seconds in which the step gives its first figures; with less time left it does not begin
    what: str


STEPS = (
    Step("facts", "checks:facts", 60, 5, "the machine, the card, versions, `encode preflight`"),
    Step("models", "speed:models", 90, 10, "makes the models and the rows of the next steps, at once"),
    Step("kernels", "checks:kernels", 120, 10, "the test programs that need a GPU"),
    Step("parity", "parity:parity", 150, 30, "vectors beside sentence-transformers in float32 and bfloat16"),
    Step("device_time", "kernel_times:device_time", 120, 20, "which kernels take the device's time"),
    Step("attention", "attention_times:attention", 60, 15, "attention of short rows by its two kernels"),
    Step("throughput", "speed:throughput", 270, 30, "tokens/s and MFU with 30, 128 and 512 tokens in a row"),
    Step("peers", "speed:peers", 210, 40, "the same rows: sentence-transformers with SDPA, packed FlashAttention-2 in PyTorch"),
    Step("more_peers", "speed:more_peers", 400, 40, "the same rows: torch.compile, float16, and the peers of a large model"),
    Step("chunks", "checks:chunks", 150, 30, "chunks, resume after SIGKILL, the allocator, what chunks cost"),
    Step("retirement", "checks:retirement", 90, 30, "workers that are replaced during a run"),
    Step("limits", "speed:limits", 90, 20, "`encode bench`: speed beside the matrix products alone"),
    Step("fp8", "parity:fp8", 200, 30, "fp8: parity with float32, speed beside bfloat16"),
    Step("sanitizer", "checks:sanitizer", 150, 20, "compute-sanitizer memcheck and racecheck of the kernels"),
    Step("kernel_gain", "speed:kernel_gain", 100, 20, "the speed with and without the project's kernels"),
)
BY_NAME = {step.name: step for step in STEPS}


def chosen(names):
    """Returns the steps of a list such as "facts,fp8", in the order of STEPS; all of them for "". Raises ValueError."""
    wanted = [name for name in names.split(",") if name]
    if unknown := [name for name in wanted if name not in BY_NAME]:
        raise ValueError(f"no step '{unknown[0]}'; the steps are {', '.join(BY_NAME)}")
    return [step for step in STEPS if not wanted or step.name in wanted]


class Check:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.started = time.monotonic()
        self.done = []  # one dict for each step, as report.json has it

    def left(self):
        return self.args.budget - (time.monotonic() - self.started)

    def run(self, step):
        print(f"== {step.name}: {step.what}", flush=True)
        limit = min(step.limit * self.args.limit_scale, self.left())
        if limit < step.least:
            reason = f"{max(self.left(), 0):.0f} s are left of the budget, and the step needs {step.least} s for its first figures"
            self.add(step, state="not run", reason=reason, seconds=0.0, tables=[], headline="", failed=[step.name])
            return
        log = self.args.output / f"{step.name}.log"
        entries = self.work / f"{step.name}.entries"
        for stale in (log, entries):
            stale.unlink(missing_ok=True)
        options = {"program": str(self.args.program), "work": str(self.work), "quick": self.args.quick,
                   "limit_scale": self.args.limit_scale}
        command = [sys.executable, "-u", STEP_PROGRAM, "--run-step", step.name, "--options", json.dumps(options), "--entries", entries]
        ended = run_limited(command, limit, log)
        found = read_results(entries)
        state, reason = judge(ended, found, log, limit)
        if state not in GOOD and not found["failed"]:
            found["failed"].append(step.name)
        if ended.survivors:
            reason += f"; processes that SIGKILL did not end: {', '.join(map(str, ended.survivors))}"
        self.add(step, state=state, reason=reason, seconds=round(ended.seconds, 1), tables=found["tables"],
                 headline=found["headline"], failed=found["failed"], log=log.name)

    def add(self, step, **result):
        self.done.append({"step": step.name, "what": step.what, **result})
        print(f"   {result['state']} after {result['seconds']:.0f} s: {summary(result)}", flush=True)
        if result["state"] not in GOOD and (log := result.get("log")):
            lines = (self.args.output / log).read_text(errors="replace").splitlines()
            print("\n".join(lines[-LOG_LINES_SHOWN:]), flush=True)
        self.write()

    def write(self):
        report = {"started": self.args.started, "budget": self.args.budget, "quick": self.args.quick,
                  "seconds": round(time.monotonic() - self.started, 1), "steps": self.done}
        (self.args.output / "report.json").write_text(json.dumps(report, indent=1) + "\n")
        (self.args.output / "report.md").write_text("\n".join(markdown(report)) + "\n")


def judge(ended, found, log, limit):
    """Returns the state of a step and the reason, which is empty for a step that passed."""
    if ended.timed_out:
        return "timed out", f"stopped after {limit:.0f} s"
    if ended.code:
        lines = log.read_text(errors="replace").strip().splitlines()
        return "failed", f"exit code {ended.code}: {lines[-1] if lines else 'no output'}"
    if found["skipped"]:
        return "skipped", found["skipped"]
    if found["failed"]:
        return "failed", ", ".join(found["failed"])
    return "passed", ""


def summary(result):
    return "; ".join(filter(None, (result["reason"], result["headline"])))


def markdown(report):
    """Yields the lines of report.md. A failed check is a row with FAIL, and so is a step that did not run to its end."""
    yield "# encode on a GPU"
    yield ""
    yield f"Started {report['started']}." + (QUICK_NOTE if report["quick"] else "")
    yield ""
    yield from markdown_table(("step", "state", "seconds", "figures"),
                              [(step["step"], step["state"], step["seconds"], summary(step)) for step in report["steps"]])
    broken = [(step["step"], "FAIL", step["reason"]) for step in report["steps"] if step["failed"] == [step["step"]]]
    if broken:
        yield from ("", "## Steps that did not run to their end", "")
        yield from markdown_table(("step", "result", "reason"), broken)
    for step in report["steps"]:
        for table in step["tables"]:
            yield from ("", f"## {step['step']}: {table['title']}", "")
            yield from markdown_table(table["header"], table["rows"])
    failed = sum(len(step["failed"]) for step in report["steps"])
    yield ""
    yield f"{failed} failed; {report['seconds']:.0f} s in all"


def steps(text):
    try:
        return chosen(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--steps", type=steps, default=chosen(""))
    parser.add_argument("--budget", type=float, default=570)
    parser.add_argument("--limit-scale", type=float, default=1)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    args.program = args.program.resolve()
    args.started = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return args


def run_steps(args, work):
    """Returns the names of the steps that neither passed nor were skipped."""
    for folder in (args.output, work):
        folder.mkdir(parents=True, exist_ok=True)
    check = Check(args, work)
    for step in args.steps:
        check.run(step)
    return [result["step"] for result in check.done if result["state"] not in GOOD]


def run_step(words):
    """Runs one step. The check ends this process when the step's time is up."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=BY_NAME)
    parser.add_argument("--options", type=json.loads, required=True, help="the fields of Context")
    parser.add_argument("--entries", type=pathlib.Path, required=True, help="the file of Results")
    args = parser.parse_args(words)
    end_with_parent()
    results = Results(args.entries)
    module, function = BY_NAME[args.step].run.split(":")
    context = Context(**args.options)
    context.clear_runs()  # a run of an earlier call would only be continued, and so encode nothing
    try:
        getattr(importlib.import_module(module), function)(context, results)
    except Skipped as reason:
        results.skipped(str(reason))


def main():
    if sys.argv[1:2] == ["--run-step"]:
        return run_step(sys.argv[2:])
    args = parse()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that the step's processes are ended too
    if args.work:
        bad = run_steps(args, args.work.resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="gpu_check_", ignore_cleanup_errors=True) as work:
            bad = run_steps(args, pathlib.Path(work))
    print(f"{args.output / 'report.md'}: {'FAIL: ' + ', '.join(bad) if bad else 'PASS'}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
