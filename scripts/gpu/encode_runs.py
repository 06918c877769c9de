"""Runs of the program: their events, their times, and how they ended."""
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass

TRY_AGAIN = 75  # the exit code that says that a new run may succeed
# No new worker starts during a run, because its start would be timed.
ONE_WORKER = ("--set", "hardware.worker_chunks=0")
STAGES = ("rows awaited", "encode", "commit awaited")  # of the main thread, see include/encode/stage_seconds.h


@dataclass(frozen=True)
class Run:
    events: list  # with their arrival times
    output: object  # the path of the matrix
    code: int  # the exit code

    def of(self, name):
        return [event for event in self.events if event["event"] == name]

    def chunks(self):
        return self.of("chunk_done")

    def failure(self):
        """Says how a run ended that failed: the exit code, and the code of the error if it has told one."""
        return " ".join([f"exit code {self.code}", *(event["code"] for event in self.of("error"))])

    def stages(self):
        """Returns the seconds of each stage of the stream. The run must have had --log-level debug and one worker."""
        return next(event["seconds"] for event in self.of("stream_done") if "seconds" in event)

    def device(self):
        return next((event["device"] for event in self.of("model_loaded")), "")


class Encode:
    """Runs the program on one model and one input."""

    def __init__(self, program, model, rows, work):
        self.command = [str(program), "run", "--json", "--no-progress", "--model", str(model), "--input", str(rows), "--field",
                        "text", "--device", "cuda"]
        self.work = work

    def run(self, name, *options, kill_after_chunks=0, kernels=True):
        """Returns a Run. `name` is that of its cache and its matrix; a second run with a name goes on where the first one ended."""
        output = self.work / f"{name}.npy"
        command = [*self.command, "--cache-dir", str(self.work / f"{name}_cache"), "--output", str(output), *map(str, options)]
        print(" ".join(command), flush=True)
        environment = os.environ if kernels else {**os.environ, "ENCODE_CUDA_KERNELS": "off"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        events = []
        for line in process.stdout:
            if line.startswith("{"):
                events.append({**json.loads(line), "arrival": time.monotonic()})
            if kill_after_chunks and sum(event["event"] == "chunk_done" for event in events) >= kill_after_chunks:
                process.send_signal(signal.SIGKILL)
                break
        process.stdout.close()
        code = process.wait()
        if code not in (0, TRY_AGAIN, -signal.SIGKILL):
            print("\n".join(json.dumps(event) for event in events[-5:]), flush=True)
        return Run(events, output, code)


def encoding_seconds(stages):
    """Returns the seconds from the end of loading to the last commit. Reading and tokenizing begin after loading, so they are
    inside."""
    return sum(stages[name] for name in STAGES)
