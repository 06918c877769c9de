"""Runs a program with a limit of time, and ends it with all processes that it has started."""
import ctypes
import os
import pathlib
import signal
import subprocess
import time
from dataclasses import dataclass

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>
# A process in the driver of a hung GPU may survive SIGKILL. It is left alone after this time.
KILL_SECONDS = 10
POLL_SECONDS = 0.02
LOG_BYTES = 8 << 20


@dataclass(frozen=True)
class Ended:
    code: int  # of the program; negative: the signal that ended it
    seconds: float
    timed_out: bool
    survivors: tuple = ()  # the processes that SIGKILL did not end


def adopt_orphans():
    """Makes this process the parent of processes whose parent has ended, so that descendants() finds them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent():
    """Lets the kernel kill this process when its parent ends, even by SIGKILL."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def descendants(pid):
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # the process has ended
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append(int(path.parent.name))
    found, pending = [], [pid]
    while pending:
        pending += (new := children.get(pending.pop(), []))
        found += new
    return found


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def kill_descendants():
    """Kills every process that this one has started, and returns the ones that still exist after KILL_SECONDS."""
    end = time.monotonic() + KILL_SECONDS
    while (left := descendants(os.getpid())) and time.monotonic() < end:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(POLL_SECONDS)
        reap()
    return tuple(left)


def shorten(path, size=LOG_BYTES):
    """Cuts a long log in its middle: its beginning names the commands, and its end has the error."""
    if path.stat().st_size <= size:
        return
    content = path.read_bytes()
    cut = f"\n... {len(content) - size} bytes are left out ...\n".encode()
    path.write_bytes(content[:size // 4] + cut + content[-(size - size // 4):])


def end(process):
    """Kills a process and returns its exit code."""
    process.kill()
    try:
        return process.wait(timeout=KILL_SECONDS)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL


def run_limited(command, limit, log):
    """Runs the command, which writes to the end of the file `log`, for at most `limit` seconds. Returns Ended. No process that it
    has started is left. The caller must have no other children, because they are killed too."""
    adopt_orphans()
    started = time.monotonic()
    timed_out = False
    survivors = ()
    with log.open("ab") as file:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.STDOUT, start_new_session=True)
    try:
        code = process.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        timed_out = True
        code = end(process)
    finally:  # also after a signal, which ends the wait
        survivors = kill_descendants()
        shorten(log)
    return Ended(code, time.monotonic() - started, timed_out, survivors)
