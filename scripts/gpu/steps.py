"""Runs the steps of gpu_check.py within the time that the whole check may take."""
import signal
import time


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
