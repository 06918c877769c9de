#!/usr/bin/env python3
"""Kills real runs of encode at random moments, resumes them, and compares the bytes of the results.

usage: tests/soak/kills.py [--kills 200] [--double 50] [--signals 20] [--seed N]      about 25 minutes on 2 cores

The runs are those of encode and encode-worker with all-MiniLM-L6-v2 on the CPU. --kills runs are killed once, and --double runs a
second time while they are resumed. Then it sends --signals stop signals at random moments; the runs must end as docs/errors.md
says, with no process left. ENCODE_BIN names the folder of the two programs, if it is not build/bin.

Each run has random settings: the rows of a chunk, the tokens of a batch, the threads, the type of the output, whether chunks are
kept, standard mode. None of them changes a vector, so a run is compared with one reference for each type of output.
"""
import argparse
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENCODE = pathlib.Path(os.environ.get("ENCODE_BIN", ROOT / "build" / "bin")) / "encode"
FAULT_LIBRARY = ROOT / "build" / "lib" / "libencode_fault.so"
MODEL = ROOT / ".deps" / "models" / "all-MiniLM-L6-v2"
TEXTS = ROOT / "tests" / "data" / "minilm" / "texts.jsonl"

TYPES = ["float32", "float16", "int8", "uint8", "binary", "ubinary", "tokens"]
STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]  # the run ends by the signal
PREEMPTIONS = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGALRM, signal.SIGPWR]  # the run ends with 75
GRACE_SECONDS = 20
KILLED = -signal.SIGKILL
MAX_LOST_CHUNKS = 2 * 64  # docs/architecture.md: two windows of up to 64 chunks


class Run:
    """An experiment in a folder of its own, which is started again and again until it is finished."""

    def __init__(self, folder, kind, options):
        self.folder = folder
        self.kind = kind
        self.output = folder / "out.npy"
        self.log = folder / "log"
        self.arguments = [str(ENCODE), "run", "--model", str(MODEL), "--input", str(TEXTS), "--field", "text", "--device", "cpu",
                          "--output", str(self.output), "--cache-dir", str(folder / "cache"), "--no-progress", *options]
        self.arguments += ["--pooling", "none"] if kind == "tokens" else ["--output-dtype", kind]
        self.slow = {}

    def slow_down(self):
        """Makes every change of a file in the cache directory come 5 ms late, so that signals hit the commits too."""
        self.slow = {"LD_PRELOAD": str(FAULT_LIBRARY), "FAULT_ROOT": str(self.folder / "cache"), "FAULT_MODE": "delay"}

    def start(self):
        with open(self.log, "ab") as log:
            return subprocess.Popen(self.arguments, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **self.slow})

    def finish(self):
        """Runs to the end. Returns the seconds that it took."""
        self.slow = {}
        begin = time.monotonic()
        code = self.start().wait()
        if code != 0:
            raise SystemExit(f"error: exit code {code}\n{self.log.read_text()[-2000:]}\n{self.arguments}")
        return time.monotonic() - begin

    def committed(self):
        logs = list((self.folder / "cache").glob("*_chunks/chunks.log"))
        return sum(path.read_bytes().count(b"\n") for path in logs)

    def begun(self):
        return len(re.findall(r"chunk \d+/\d+ \(samples", self.log.read_text(errors="replace"))) if self.log.exists() else 0

    def content(self):
        """The bytes of the files that a user reads."""
        files = sorted(path for path in self.folder.glob("out*") if not path.name.endswith(".manifest.json"))
        return {path.name: path.read_bytes() for path in files}


class Campaign:
    def __init__(self, folder, seed):
        self.folder = folder
        self.random = random.Random(seed)
        self.references = {}
        self.seconds = 0
        for kind in TYPES:
            run = Run(self.make_folder(f"reference_{kind}"), kind, [])
            self.seconds = run.finish()
            self.references[kind] = run.content()

    def make_folder(self, name):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def random_run(self):
        pick = self.random.choice
        options = ["--threads", str(pick([1, 2])), "--batch-tokens", str(pick([64, 128, 256, 512, 2048]))]
        if self.random.random() < 0.1:
            options.append("--standard")
        else:
            options += ["--chunk-size", str(pick([1, 2, 3, 5, 9, 20, 60]))]
        if self.random.random() < 0.5:
            options.append("--keep-chunks")
        return Run(self.make_folder("run"), pick(TYPES), options)

    def stop(self, run, number):
        """Starts the run and sends it a signal at a random moment. Returns its exit code and how long it took to end."""
        process = run.start()
        time.sleep(self.random.uniform(0, self.seconds))
        begin = time.monotonic()
        if number == signal.SIGKILL:
            kill_session(process.pid)
        else:
            process.send_signal(number)
        code = process.wait()
        took = time.monotonic() - begin
        if code == 0:
            self.seconds = max(0.3, 0.9 * self.seconds)  # the signal came too late
        return code, took

    def check(self, run):
        seconds = run.finish()
        self.seconds = 0.8 * self.seconds + 0.2 * max(seconds, 0.3)
        if run.content() != self.references[run.kind]:
            raise SystemExit(f"error: the bytes differ: {run.arguments}")

    def kill_runs(self, kills, times):
        """Kills `kills` runs, each `times` times. Returns the chunks that each kill has cost."""
        lost = []
        done = 0
        while done < kills:
            run = self.random_run()
            codes = []
            for _ in range(times):
                begun, committed = run.begun(), run.committed()
                codes.append(self.stop(run, signal.SIGKILL)[0])
                if codes[-1] == 0:
                    break
                lost.append(max(0, run.begun() - begun - (run.committed() - committed)))
            self.check(run)
            done += 1 if codes == [KILLED] * times else 0
            if done % 20 == 0 and codes[-1] == KILLED:
                report_lost(f"{done} of {kills} runs", lost)
        return lost

    def send_signals(self, signals):
        """Sends signals to runs. Returns how long each run took to end, in seconds."""
        took = []
        while len(took) < signals:
            run = self.random_run()
            if self.random.random() < 0.5:
                run.slow_down()
            number = self.random.choice(STOPS + PREEMPTIONS)
            code, seconds = self.stop(run, number)
            if code != 0:
                # Before encode has set its handlers, each of these signals ends it at once.
                if code not in ([-number] if number in STOPS else [75, -number]):
                    raise SystemExit(f"error: {number!r} gave the exit code {code}\n{run.log.read_text()[-2000:]}")
                took.append(seconds)
                if len(took) % 20 == 0:
                    report_ends(took)
                if seconds > GRACE_SECONDS + 5:
                    raise SystemExit(f"error: the run took {seconds:.1f} s to end")
            self.check(run)
        return took


def processes_of(session):
    """The processes of a session that still run. The worker has a process group of its own, but the session of encode."""
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its_session = (path / "stat").read_text().rsplit(")", 1)[1].split()[:4]
            # A killed process is a zombie while some of its threads still run, which keep the lock.
            ended = state == "Z" and len(list((path / "task").iterdir())) < 2
        except OSError:
            continue  # it is gone
        if int(its_session) == session and not ended:
            yield int(path.name)


def kill_session(session):
    """Kills encode and its worker, and waits until the kernel has ended both, which a busy machine delays."""
    deadline = time.monotonic() + 60
    while processes := list(processes_of(session)):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise SystemExit("error: a killed process does not end")
        time.sleep(0.01)


def report_lost(name, lost):
    worst = max(lost, default=0)
    print(f"{name}: {len(lost)} kills, 0 bad; chunks computed again: {statistics.mean(lost or [0]):.1f} a kill, at most {worst}",
          flush=True)
    if worst > MAX_LOST_CHUNKS:
        raise SystemExit(f"error: a kill has cost {worst} chunks")


def report_ends(took):
    print(f"{len(took)} signals, 0 bad; a run took {statistics.median(took):.2f} s to end, at most {max(took):.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("kills", 200), ("double", 50), ("signals", 20), ("seed", int(time.time()))):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    subprocess.run([ROOT / "scripts" / "models.sh"], check=True)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="encode_kills_") as folder:
        campaign = Campaign(pathlib.Path(folder), options.seed)
        report_lost("killed once", campaign.kill_runs(options.kills, 1))
        report_lost("killed twice", campaign.kill_runs(options.double, 2))
        took = campaign.send_signals(options.signals)
        if took:
            report_ends(took)


if __name__ == "__main__":
    sys.exit(main())
