"""The guardian: a process that ends what its owner cannot end itself.

It is run as a file, without this package, in 20 milliseconds.  It reads messages from
standard input, each ended by a byte 0.  When the owner is gone, the guardian ends the
process groups that the owner left, removes its temporary files, and ends.

For a command it also reads the number of each signal, which Python's C code writes
without the interpreter's lock.  It passes each number on to a thread of the command.
If the command does not confirm it in time, a library holds the lock: the guardian
then kills the command.
"""

import os
import select
import shutil
import signal
import sys
import time
from contextlib import suppress
from datetime import UTC

SHOWN = "\x1b[?25h"  # a sentence begins with it on a terminal, to show the cursor
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}


class Guardian:
    """State of the owner: its groups, its files, and its unconfirmed signals."""

    def __init__(self, owner: int, wakeups: int, forward: int, grace: float) -> None:
        self.owner = owner
        self.wakeups = wakeups
        self.forward = forward
        self.grace = grace
        self.groups: set[int] = set()
        self.files: dict[str, None] = {}
        self.sentence = ""
        self.log = ""  # path of the command's log, if any, and its last line, as JSON
        self.holds = 0  # while files get their names, nothing is killed
        self.due: float | None = None

    def watch(self) -> None:
        """Listen until the owner is gone."""
        unread = b""
        sources = [0] if self.wakeups < 0 else [0, self.wakeups]
        while True:
            ready, _, _ = select.select(sources, [], [], self._compute_wait())
            if 0 in ready:
                received = os.read(0, 1 << 16)
                if not received:
                    return
                *messages, unread = (unread + received).split(b"\0")
                for message in messages:
                    self._handle_message(os.fsdecode(message))
            if self.wakeups in ready:
                self._hand_on()
            if self.due is not None and self._compute_wait() == 0:
                self._kill_owner()
                return

    def _compute_wait(self) -> float | None:
        if self.due is None or self.holds:
            return None
        return max(0.0, self.due - time.monotonic())

    def _hand_on(self) -> None:
        numbers = os.read(self.wakeups, 64)
        if not numbers:
            self.wakeups = -1
            return
        with suppress(OSError):
            os.write(self.forward, numbers)
        if self.due is None and ENDING & {*numbers}:
            self.due = time.monotonic() + self.grace

    def _handle_message(self, message: str) -> None:
        word, _, rest = message.partition(" ")
        if word == "confirmed":
            self.due = None
        elif word == "hold":
            self.holds += 1
        elif word == "free":
            self.holds -= 1
            if self.due is not None:
                self.due = time.monotonic() + self.grace
        elif word == "group":
            self.groups.add(int(rest))
        elif word == "ended":
            self.groups.discard(int(rest))
        elif word == "file":
            self.files[rest] = None
        elif word == "removed":
            self.files.pop(rest, None)
        elif word == "sentence":
            self.sentence = rest
        elif word == "log":
            self.log = rest

    def _kill_owner(self) -> None:
        if os.getppid() != self.owner:
            return  # it is gone, and its number may be another's
        self.tidy()
        with suppress(OSError):
            if select.select([], [2], [], self.grace)[1]:  # else no one reads it
                os.write(2, os.fsencode(self.sentence))
        with suppress(OSError):
            self._end_log()
        with suppress(OSError):
            os.kill(self.owner, signal.SIGKILL)

    def _end_log(self) -> None:
        """Write the last line of the command's log, which it cannot write itself."""
        if not self.log:
            return
        import json  # here, as each import delays the start
        from datetime import datetime

        stated = json.loads(self.log)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "message": self.sentence.strip().removeprefix(SHOWN),
            "seconds": round(time.monotonic() - stated["began"], 3),
            **stated["line"],
        }
        log = os.open(stated["path"], os.O_WRONLY | os.O_APPEND)
        os.write(log, (json.dumps(line) + "\n").encode())
        os.close(log)

    def tidy(self) -> None:
        """End the groups and remove the files that the owner left."""
        for group in self.groups:
            with suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        for name in self.files:
            if os.path.isdir(name):
                shutil.rmtree(name, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(name)
        self.groups.clear()
        self.files.clear()


if __name__ == "__main__":
    owner, wakeups, forward = map(int, sys.argv[1:4])
    guardian = Guardian(owner, wakeups, forward, float(sys.argv[4]))
    guardian.watch()
    guardian.tidy()
