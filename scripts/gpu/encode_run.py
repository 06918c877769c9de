"""Runs `encode run` for gpu_check.py."""
import json
import os
import signal
import subprocess
import time


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
