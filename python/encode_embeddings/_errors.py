"""The errors of the programs as an exception."""
import json
import re
import signal
from typing import Any, Dict, List, Optional

PARTS = ("where", "expected", "found", "hint")
HEAD = re.compile(r"^error\[([\w.]+)\]: (.*)$")
PART = re.compile(rf"^  ({'|'.join(PARTS)}) +(.*)$")
# The exit codes after which the same call continues the run; docs/errors.md of encode has all codes.
RESUMABLE = (75, 129, 130, 137, 143)


class EncodeError(RuntimeError):
    """A run has failed. The attributes are the parts of the error message, and are empty if the error does not have them.

    Attributes:
        code: The stable code of the error, such as "config.key"; docs/errors.md of encode lists the codes.
        message: What is wrong.
        where: The file and the line, the option or the device.
        expected: What should be there.
        found: What is there.
        hint: What to do about it.
        exit_code: The exit code of the program; 128 plus the number of the signal if a signal has ended it.
    """

    def __init__(self, message: str, *, code: str, exit_code: int, where: str = "", expected: str = "", found: str = "",
                 hint: str = ""):
        self.code = code
        self.message = message
        self.where = where
        self.expected = expected
        self.found = found
        self.hint = hint
        self.exit_code = exit_code
        super().__init__(self._text())

    @property
    def resumable(self) -> bool:
        """Whether the same call continues the run."""
        return self.exit_code in RESUMABLE

    def _text(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        for name in PARTS:
            value = getattr(self, name).replace("\n", "\n" + " " * 12)
            if value:
                lines.append(f"  {name:10}{value}")
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        return _rebuild, (self.message, self.code, self.exit_code, {name: getattr(self, name) for name in PARTS})


def _rebuild(message: str, code: str, exit_code: int, parts: Dict[str, str]) -> EncodeError:
    return EncodeError(message, code=code, exit_code=exit_code, **parts)


def from_event(event: Dict[str, Any]) -> EncodeError:
    """Makes the exception of an `error` event of the log."""
    return EncodeError(event["message"], code=event["code"], exit_code=event["exit_code"],
                       **{name: event.get(name, "") for name in PARTS})


def from_text(text: str, exit_code: int) -> Optional[EncodeError]:
    """Makes the exception of the last error in the text form of docs/errors.md, or returns None if there is none."""
    head = None
    parts: Dict[str, List[str]] = {}
    lines: List[str] = []
    for line in text.splitlines():
        if match := HEAD.match(line):
            head, parts, lines = match, {}, []
        elif match := PART.match(line):
            lines = parts.setdefault(match[1], [])
            lines.append(match[2])
        elif line.startswith(" " * 12):
            lines.append(line[12:])
        else:
            lines = []
    if head is None:
        return None
    return EncodeError(head[2], code=head[1], exit_code=exit_code,
                       **{name: "\n".join(values) for name, values in parts.items()})


def failure(text: str, code: int) -> EncodeError:
    """Makes the exception of a program that has ended with this exit code (below 0: a signal) and error output."""
    error = from_text(text, code)
    if error:
        return error
    if code < 0:
        return EncodeError(f"{signal.Signals(-code).name} has ended the run", code="python.signal", exit_code=128 - code,
                           hint="the committed chunks are kept: the same call continues the run")
    return EncodeError("the program has ended without a result", code="python.output", exit_code=code or 70,
                       found=text[-2000:].strip() or "no message")


def parse_event(line: bytes) -> Optional[Dict[str, Any]]:
    """Returns the event of a line of the log, or None if the line is no event."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None
