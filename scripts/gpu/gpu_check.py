#!/usr/bin/env python3
"""Runs the steps of plan.py, each in a process of its own with a limit of time. scripts/gpu_check.sh describes the options.

The output folder gets report.md, report.json and NAME.log of each step. The reports are written again after each step, so that they
are complete if this program is killed.
"""
import argparse
import datetime
import json
import pathlib
import signal
import sys
import tempfile
import time

import plan
from limited import run_limited
from results import markdown_table, read_results

STEP_PROGRAM = pathlib.Path(__file__).resolve().parent / "run_step.py"
GOOD = ("passed", "skipped")
LOG_LINES_SHOWN = 30
QUICK_NOTE = " Short timings (--quick): they test the script, not the GPU."


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
        command = [sys.executable, "-u", STEP_PROGRAM, step.name, "--options", json.dumps(options), "--entries", entries]
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
        return plan.chosen(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--steps", type=steps, default=plan.chosen(""))
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


def main():
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
