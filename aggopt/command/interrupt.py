"""Ctrl-C, heard by the command even where what it raises is lost on the way.

What a handler raises while an object dies, or within a callback of a C library, is
printed and forgotten.  So the command also notes that Ctrl-C came, and looks at the
note at each step, before files appear, and at its end.
"""

import os
import signal
import sys
from types import FrameType

from aggopt.output.staging import remove_all

EXIT = 130
NO_RELEASE = "no release was written"
_SHOWN = b"\x1b[?25h"  # the cursor, which a progress bar hides


class Interrupts:
    """How often Ctrl-C came; the second time ends the command at once.

    Attributes
    ----------
    count
        How often it came.
    outcome
        What is true of an interrupted command, to be said to its user.
    """

    def __init__(self) -> None:
        self.count, self.outcome = 0, NO_RELEASE

    def listen(self) -> None:
        """Note Ctrl-C from here on, unless it is ignored or handled elsewhere."""
        self.count, self.outcome = 0, NO_RELEASE
        if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, self._came):
            signal.signal(signal.SIGINT, self._came)

    def require_none(self) -> None:
        """Raise again what came and was lost.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C came.
        """
        if self.count:
            raise KeyboardInterrupt

    def _came(self, number: int, frame: FrameType | None) -> None:
        if frame is not None:  # else it comes again, by `heeded`
            self.count += 1
        if self.count > 1:
            _end(self.outcome)
        raise KeyboardInterrupt


def _end(outcome: str) -> None:
    """End here and now; no file of a release stays."""
    remove_all()
    shown = _SHOWN if sys.stderr.isatty() else b""
    os.write(2, shown + f"Interrupted twice: ended at once, {outcome}.\n".encode())
    os._exit(EXIT)


interrupts = Interrupts()
