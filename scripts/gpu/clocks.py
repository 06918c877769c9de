"""The clocks and the power of the card during a timing, as nvidia-smi gives them."""
import statistics
import subprocess
import threading
import time

FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_event_reasons.active")
PERIOD_MS = 250
IDLE = 0x1  # a reason of the last field: nothing runs, so the clocks are low
HEADER = ("SM MHz", "memory MHz", "W", "°C", "limits of the clocks")


def parse(line):
    """Returns the numbers of FIELDS, or None for a line without them."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != len(FIELDS):
        return None
    try:
        return [*map(float, parts[:-1]), int(parts[-1], 16)]
    except ValueError:  # for example [N/A]
        return None


class Clocks:
    """Samples the card until the end of a `with` block. Without nvidia-smi there are no samples."""

    def __init__(self):
        self.samples = []  # (time, numbers of FIELDS)
        self.process = None

    def __enter__(self):
        command = ["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits", f"-lms={PERIOD_MS}", "--id=0"]
        try:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            return self
        threading.Thread(target=self.read, daemon=True).start()
        return self

    def read(self):
        for line in self.process.stdout:
            if numbers := parse(line):
                self.samples.append((time.monotonic(), numbers))

    def __exit__(self, *failure):
        if self.process:
            self.process.kill()
            self.process.wait()

    def between(self, start, end):
        """Returns the cells of HEADER: medians over the samples from `start` to `end` of time.monotonic(), and the bits of all
        reasons."""
        inside = [numbers for moment, numbers in self.samples if start <= moment <= end]
        if not inside:
            return (None,) * len(HEADER)
        reasons = 0
        for numbers in inside:
            reasons |= numbers[-1]
        return (*(statistics.median(column) for column in list(zip(*inside))[:-1]), hex(reasons & ~IDLE))
