"""One export at a time writes into a local target."""
import fcntl
import os
from typing import IO

from .._errors import EncodeError


def take_lock(path: str) -> "IO[str]":
    """Locks a file beside the target until it is closed or the process ends.

    Raises:
        EncodeError: Another export has the lock.
    """
    path = os.path.abspath(path)
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    lock = open(os.path.join(folder, f".{name}.export.lock"), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise EncodeError("another export writes into this target", code="export.busy", exit_code=75, where=path,
                          expected="one export at a time", found="a lock of another process", hint="wait for its end") from error
    return lock


def publish(partial: str, path: str) -> None:
    """Gives a finished file its name, after its content is on the disk."""
    handle = os.open(partial, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(partial, path)
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
