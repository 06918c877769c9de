"""Runs `encode` for the measurements. Returns the seconds of the whole command, processor seconds and figures of the log."""
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Run:
    seconds: float  # of the whole command
    cpu_seconds: float
    tokens: int
    rows: int
    peak_bytes: int
    stages: dict  # seconds of each stage, see include/encode/stage_seconds.h
    chunks: list  # (tokens, seconds) of each chunk in order; empty in standard mode
    output: bytes  # the file of the final

    def encoding_seconds(self):
        """Returns the seconds from the end of loading to the last commit: the stages of the main thread."""
        return sum(self.stages[name] for name in ("rows awaited", "encode", "commit awaited"))


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def encode(program, model, rows, *flags):
    """Runs once with a cache of its own and the given flags, on the CPU unless the flags name a device."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.npy"
        device = () if "--device" in flags else ("--device", "cpu")
        command = [program, "run", "--model", model, "--input", rows, "--field", "text", *device, "--cache-dir",
                   f"{folder}/cache", "--output", output, "--json", "--log-level", "debug", "--no-progress", *flags]
        before, started = processor_seconds(), time.monotonic()
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        seconds = time.monotonic() - started
        if result.returncode:
            sys.exit(f"{' '.join(map(str, command))}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
        events = [json.loads(line) for line in result.stdout.splitlines()]
        summary = next(event for event in events if event["event"] == "summary")
        stages = next(event["seconds"] for event in events if event["event"] == "stream_done")
        return Run(seconds, processor_seconds() - before, sum(matrix["tokens"] for matrix in summary["matrices"]),
                   sum(matrix["rows"] for matrix in summary["matrices"]), summary["peak_host_bytes"],
                   stages,
                   [(event["tokens"], event["seconds"]) for event in events if event["event"] == "chunk_done"],
                   output.read_bytes())
