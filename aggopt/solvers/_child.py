"""Ask a solver in a process of its own: one that aborts takes only that with it.

Data and answer go through pipes, so that no file holds them.
"""

import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext
from threading import TIMEOUT_MAX
from typing import Any

from aggopt.core.validation import Floats
from aggopt.errors import AggoptError
from aggopt.solvers._answer import Answer, answer_here
from aggopt.solvers._by_language import of_language
from aggopt.solvers._certificate import Status
from aggopt.solvers._log import is_logged, log_of, logged_here
from aggopt.solvers._registry import SOLVERS
from aggopt.solvers._scratch import WHERE, scratch
from aggopt.solvers._solver import Solver

GRACE = 3.0  # seconds after its time limit in which a solver may come to an end


def answer_apart(
    model: Any,
    data: Any,
    solver: Solver,
    start: Floats | None,
    time_limit: float | None,
    options: Mapping[str, Any] | None,
) -> Answer:
    """Return what `answer_here` returns, or says, in another process.

    A solver that aborts has failed; one that does not end in time, or takes no limit,
    is ended.
    """
    limit = time_limit if solver.limited else None
    how = (start, limit, dict(options or {}))
    asked = (is_logged(), model, data, solver.name, *how)
    longest = None if time_limit is None else min(time_limit + GRACE, TIMEOUT_MAX)
    # the folder is made here, so that it goes even if the child is ended
    with (
        log_of(solver.name) as log,
        scratch() as folder,
    ):
        try:
            ended = subprocess.run(
                [sys.executable, "-P", "-m", "aggopt.solvers._child"],
                input=pickle.dumps(asked),
                stdout=subprocess.PIPE,
                stderr=log or subprocess.DEVNULL,
                env={**os.environ, **_same_path(), WHERE: str(folder)},
                timeout=longest,
                check=False,
            )
        except subprocess.TimeoutExpired:
            spent = float(time_limit or 0)
            return Answer(None, Status.LIMIT, None, solver.name, spent)
    if ended.returncode:
        return Answer(None, Status.FAILED, None, solver.name, 0.0)
    said = pickle.loads(ended.stdout)
    if isinstance(said, AggoptError):
        raise said
    found: Answer = said
    return found


def _same_path() -> dict[str, str]:
    """Return what lets a process import what this one does, and no file beside us."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _end_with(parent: int) -> None:
    """End this process once its parent is gone: a solver would run on for nobody.

    The folder that the parent made goes with it, which it could not remove itself.
    """
    while os.getppid() == parent:
        time.sleep(1)
    shutil.rmtree(os.environ[WHERE], ignore_errors=True)
    os._exit(1)


def _main() -> None:
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    replies = os.dup(1)
    os.dup2(2, 1)  # what the solver itself prints is not a reply
    is_loud, model, data, solver, *rest = pickle.load(sys.stdin.buffer)
    try:
        by = SOLVERS.get(solver) or of_language(solver)
        with logged_here() if is_loud else nullcontext():
            said: object = answer_here(model, data, by, *rest)  # type: ignore[arg-type]
    except AggoptError as refusal:
        said = refusal
    with os.fdopen(replies, "wb") as stream:
        pickle.dump(said, stream)


if __name__ == "__main__":
    _main()
