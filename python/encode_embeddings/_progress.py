"""The progress of a run on a terminal, in a notebook, or as calls of a function."""
import shutil
import sys
import time
from typing import Any, Callable, Optional, Union

BAR = 24
LINE_SECONDS = 10  # between two lines where nothing can be redrawn

ProgressOption = Union[None, bool, Callable[[int, int, float], None]]


def describe(done: int, total: int, seconds_left: float) -> str:
    """Returns a line such as "encode [####----]  50% 1,500/3,000 rows, 12 s left"."""
    share = min(1.0, done / total) if total else 1.0
    bar = "#" * int(share * BAR)
    left = f", {seconds_left:,.0f} s left" if seconds_left >= 0 else ""
    return f"encode [{bar:-<{BAR}}] {share:4.0%} {done:,}/{total:,} rows{left}"


def notebook_display() -> Optional[Any]:
    """Returns IPython.display if this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if all(each.__name__ != "ZMQInteractiveShell" for each in type(shell).__mro__):  # Colab derives a class
        return None
    import IPython.display
    return IPython.display


class Progress:
    """Shows how far a run is.

    Args:
        option: None: on a terminal and in a notebook; True: elsewhere too, as lines; False: not at all; a function: it gets the
            finished rows, all rows, and the seconds that are left (-1: not known).
    """

    def __init__(self, option: ProgressOption):
        self._call = option if callable(option) else None
        self._display = None if option is False or self._call else notebook_display()
        self._handle: Any = None
        self._terminal = not self._call and option is not False and not self._display and sys.stderr.isatty()
        self._lines = option is True and not self._display and not self._terminal
        self._shown_at = -LINE_SECONDS * 1.0
        self._drawn = False
        self._line = ""  # the last one that was shown

    def update(self, done: int, total: int, seconds_left: float = -1) -> None:
        if self._call:
            self._call(done, total, seconds_left)
            return
        line = describe(done, total, seconds_left)
        if line == self._line and not self._lines:
            return
        self._line = line
        if self._display:
            if self._handle is None:
                self._handle = self._display.display(self._display.Pretty(line), display_id=True)
            else:
                self._handle.update(self._display.Pretty(line))
        elif self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{line[:width]}", end="", file=sys.stderr, flush=True)
            self._drawn = True
        elif self._lines and time.monotonic() - self._shown_at >= LINE_SECONDS:
            self._shown_at = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
