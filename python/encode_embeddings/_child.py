"""A run as a child process."""
import json
import logging
import os
import pathlib
import selectors
import signal
import subprocess
import time
from typing import Any, Dict, List, Optional

from ._errors import EncodeError, failure, from_event, parse_event
from ._progress import Progress

LOG = logging.getLogger("encode_embeddings")
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
POLL_SECONDS = 0.5
MAX_STDERR = 1 << 20  # bytes that are kept for an error message


class Child:
    """Starts a run, reads its events, and hands on Ctrl-C.

    The child is in the process group of this process. A terminal sends Ctrl-C to both; a notebook sends it only to this
    process, which sends it on. The program counts two signals within half a second as one.
    """

    def __init__(self, command: List[str], environment: Dict[str, str], status: pathlib.Path, progress: Progress):
        self._status = status
        self._progress = progress
        self._text = {"stdout": b"", "stderr": b""}
        self._shown = time.monotonic()
        self._total = 0  # rows, once they are known
        self._summary: Optional[Dict[str, Any]] = None
        self._error: Optional[EncodeError] = None
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, bufsize=0)

    def wait(self) -> Dict[str, Any]:
        """Returns the event `summary`.

        Raises:
            EncodeError: The run has failed, or a signal that this process did not get has ended it.
            KeyboardInterrupt: Ctrl-C, after the child has saved its work and ended.
        """
        interrupt: Optional[KeyboardInterrupt] = None
        progress = self._progress
        with self._process, selectors.DefaultSelector() as selector:
            for name in ("stdout", "stderr"):
                selector.register(getattr(self._process, name), selectors.EVENT_READ, name)
            while selector.get_map():
                try:
                    self._read(selector)
                except KeyboardInterrupt as error:
                    interrupt = error
                    self._progress = Progress(False)  # no function of the caller may keep the child from ending
                    self._process.send_signal(signal.SIGINT)
                except BaseException:  # of a function for the progress, for example
                    self._process.terminate()
                    raise
            code = self._wait_for_end()
            if self._summary:
                self._show_progress()  # a short run may end before its rows were counted
                if self._total:
                    self._progress.update(self._total, self._total, 0)
            progress.close()
        if interrupt:
            raise interrupt
        if code == 0 and self._summary:
            return self._summary
        raise self._error or failure(self._text["stderr"].decode(errors="replace"), code)

    def _wait_for_end(self) -> int:
        while True:
            try:
                return self._process.wait()
            except KeyboardInterrupt:
                self._process.send_signal(signal.SIGINT)

    def _read(self, selector: selectors.BaseSelector) -> None:
        for key, _ in selector.select(POLL_SECONDS):
            data = os.read(key.fd, 1 << 16)
            if not data:
                selector.unregister(key.fileobj)
            self._text[key.data] += data
        *lines, self._text["stdout"] = self._text["stdout"].split(b"\n")
        for line in lines:
            event = parse_event(line)
            if event:
                self._handle(event)
        self._text["stderr"] = self._text["stderr"][-MAX_STDERR:]
        if time.monotonic() - self._shown >= POLL_SECONDS:
            self._shown = time.monotonic()
            self._show_progress()

    def _handle(self, event: Dict[str, Any]) -> None:
        if event["event"] == "summary":
            self._summary = event
        elif event["event"] == "error":
            self._error = from_event(event)
        else:
            LOG.log(LEVELS.get(event.get("level", ""), logging.DEBUG), "%s", event.get("message", ""), extra={"encode": event})

    def _show_progress(self) -> None:
        try:
            status = json.loads(self._status.read_bytes())
            streams = status["streams"] if status["pid"] == self._process.pid else []
            if streams:
                self._total = sum(each["rows"] for each in streams)
                self._progress.update(sum(each["rows_done"] for each in streams), self._total, status["seconds_left"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # There is no status until the inputs are read.
