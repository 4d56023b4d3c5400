"""Code in a process of its own, without the second that Python takes to start aggopt.

A server imports what most code needs, and runs nothing.  Each run is a fork of the
server: a process that ends as any interpreter does, whatever happens to it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, CompletedProcess
from tempfile import TemporaryDirectory

import aggopt

SERVER = """
import json, os, signal, sys
import aggopt.command.cli, aggopt.core.compiled, aggopt.release.release
import aggopt.pipeline.mask, aggopt.pipeline.partition.partition_table, numba

for line in sys.stdin:
    code, folder, out, err = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
signal.alarm(600)  # no run lasts longer
if out is None:  # nobody reads what it prints
    unread, end = os.pipe()
    os.close(unread)
else:
    end = os.open(out, os.O_WRONLY | os.O_CREAT)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(end, 1)
os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT), 2)
os.chdir(folder)
exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
"""


class Forks:
    """A server of processes; see the head of this file."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self.server, self.out, self.err = server, folder / "out", folder / "err"

    def __call__(
        self, code: str, *, read: bool = True, cwd: Path | None = None
    ) -> CompletedProcess[str]:
        """Return how code ended and what it printed; to nobody without `read`."""
        self.out.write_text("")
        self.err.write_text("")
        out = str(self.out) if read else None
        words = code, str(cwd or Path.cwd()), out, str(self.err)
        self.server.stdin.write(json.dumps(words) + "\n")
        self.server.stdin.flush()
        status = int(self.server.stdout.readline())
        return CompletedProcess(
            ["fork"], status, self.out.read_text(), self.err.read_text()
        )


@contextmanager
def forks() -> Iterator[Forks]:
    """Keep a server for as long as it is needed."""
    paths = [str(Path(aggopt.__file__).parents[1]), *sys.path]
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", SERVER]
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(command, env=known, stdin=PIPE, stdout=PIPE, text=True) as run,
    ):
        yield Forks(run, Path(folder))
        run.stdin.close()
