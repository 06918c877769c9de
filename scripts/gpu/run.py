"""What gpu_check.py is made of, without LibTorch: runs of encode, steps with a limit of time, and the report."""
import json
import os
import signal
import subprocess
import time

# Changelog entries are short, so 200,000 of them keep a small model busy for a second or more.
SHORT_ROWS = 200_000
LONG_ROWS = 3000
LONG_ROW_TOKENS = 512
ATTENTION_TEST = "gpu_attention_test"


class Report:
    """Prints results at once, and collects them as Markdown for gpu_check.md."""

    def __init__(self, folder):
        self.path = folder / "gpu_check.md"
        self.lines = []
        self.failed = []

    def section(self, title, *header):
        self.lines += ["", f"## {title}", ""]
        if header:
            self.lines += ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
        print(f"== {title}", flush=True)

    def row(self, *cells):
        self.lines.append("| " + " | ".join(map(str, cells)) + " |")
        print("   " + "  ".join(map(str, cells)), flush=True)

    def check(self, name, good, detail):
        result = "PASS" if good else "FAIL"
        if not good:
            self.failed.append(name)
        self.row(name, result, detail)

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n")


def stop_at(number, frame):
    raise TimeoutError("stopped, because the time of the whole check is up")


def run_steps(steps, report, seconds):
    """Runs each step. A step that fails or does not end in time becomes a failed check, and so does each step that the time does
    not reach. The report is written after each step, so that it has the results of the steps before if the program is killed."""
    end = time.monotonic() + seconds
    signal.signal(signal.SIGALRM, stop_at)
    for step in steps:
        before = time.monotonic()
        try:
            left = end - before
            if left <= 0:
                raise TimeoutError("not run, because the time of the whole check is up")
            signal.setitimer(signal.ITIMER_REAL, left)
            step()
        except Exception as error:  # the results of the other steps are still useful
            report.check(step.__name__, False, f"{type(error).__name__}: {error}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        report.write()
        print(f"   ({time.monotonic() - before:.0f} s)", flush=True)


class Encode:
    """Runs the program of the bundle on one model and one input."""

    def __init__(self, program, model, rows_path, work):
        self.command = [str(program), "run", "--json", "--model", str(model), "--input", str(rows_path), "--field",
                        "text", "--device", "cuda"]
        self.work = work

    def run(self, name, *options, kill_after_chunks=0, kernels=True):
        """Returns (events with their arrival times, path of the matrix, exit code)."""
        output = self.work / f"{name}.npy"
        command = [*self.command, "--cache-dir", str(self.work / f"{name}_cache"), "--output", str(output), *options]
        events = []
        with open(self.work / f"{name}.stderr", "a+") as stderr:
            environment = os.environ if kernels else {**os.environ, "ENCODE_CUDA_KERNELS": "off"}
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment)
            try:
                for line in process.stdout:
                    if line.startswith("{"):
                        events.append({**json.loads(line), "arrival": time.monotonic()})
                    if kill_after_chunks and sum(e["event"] == "chunk_done" for e in events) >= kill_after_chunks:
                        process.send_signal(signal.SIGKILL)
                        break
                process.stdout.close()
                code = process.wait()
            finally:
                process.kill()  # the time is up; a process that has ended stays as it is
            if code not in (0, 75, -signal.SIGKILL):  # 75 means that a new run may succeed
                stderr.seek(0)
                print(f"{' '.join(command)}\nexit code {code}\n{stderr.read()[-3000:]}", flush=True)
                print("\n".join(json.dumps(event) for event in events[-5:]), flush=True)
        return events, output, code


def failure(events, code):
    """Says how a run ended that failed: the exit code, and the code of the error if it has told one."""
    return " ".join([f"exit code {code}", *(event["code"] for event in events if event["event"] == "error")])


def chunks_done(events):
    return [event for event in events if event["event"] == "chunk_done"]


def steady_speed(events):
    """Returns tokens/s from the end of the first chunk on, because the first use of the kernels is slow. The chunks must be
    larger than a window (16 batches), because several smaller chunks end at the same time."""
    done = chunks_done(events)
    return sum(event["tokens"] for event in done[1:]) / (done[-1]["arrival"] - done[0]["arrival"])


def attention(checks):
    """Measures what a decision needs (docs/gpu.md); no figure is right or wrong. cuDNN may end the program, for example by an
    illegal access, which is then the finding."""
    report = checks.report
    report.section("Attention: cuDNN beside FlashAttention-2 (docs/gpu.md says what follows)", "shape", "type", "figures")
    run = checks.gpu_test(ATTENTION_TEST)
    if run is not None and run.returncode:
        report.row(ATTENTION_TEST, f"ended with {run.returncode}", (run.stdout.strip().splitlines() or ["no output"])[-1])
