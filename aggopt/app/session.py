"""What a person has set so far: the table, the job with its history, the results."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggopt.app.job_text import parse_roles
from aggopt.app.process import ComputingProcess
from aggopt.app.start_folder import StartFolder, identify_file
from aggopt.app.texts import FIRST

IDLE = 3600.0  # seconds without a request after which the page ends
WARNING = 300.0  # seconds before that in which it says so
PREVIEW = 2000  # records of a preview: masked in two seconds
SIDE_BY_SIDE = 4  # releases that are compared
STEPS = ("table", "roles", "risk", "protect", "compare", "release")
RESULTS = {  # the tasks that complete a step
    "risk": ("check",),
    "protect": ("mask",),
    "compare": ("choose", "compare"),
    "release": ("write",),
}


@dataclass
class History:
    """The texts of the job, in the order in which they were set."""

    texts: list[str] = field(default_factory=list)
    place: int = -1

    @property
    def text(self) -> str:
        """The job that holds now; "" before the first."""
        return self.texts[self.place] if self.texts else ""

    @property
    def can_undo(self) -> bool:
        """Whether an earlier job exists."""
        return self.place > 0

    @property
    def can_redo(self) -> bool:
        """Whether a job was undone."""
        return self.place < len(self.texts) - 1

    def set(self, text: str) -> None:
        """Set the job; what was undone is forgotten."""
        if text != self.text or not self.texts:
            del self.texts[self.place + 1 :]
            self.texts.append(text)
            self.place += 1

    def undo(self) -> None:
        """Return to the job before."""
        self.place -= self.can_undo

    def redo(self) -> None:
        """Return to the job that was undone."""
        self.place += self.can_redo


@dataclass(eq=False)
class PageSession:
    """One person at one table; pages show it, and tasks change it.

    Attributes
    ----------
    start
        The folder below which files are read and written.
    private
        A folder that only the owner can enter: the job of a task, and its report.
    table
        The proposal for the table that is open; None before.
    results
        The results of tasks, by the task and the job that they are of.
    compared
        Releases that are shown side by side, each with its job.
    message
        A sentence on the last request, which the next page shows, with its fix.
    """

    start: StartFolder
    private: Path
    process: ComputingProcess = field(default_factory=ComputingProcess)
    clock: Callable[[], float] = time.monotonic
    language: str = FIRST
    table: dict[str, Any] | None = None
    history: History = field(default_factory=History)
    results: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    compared: list[dict[str, Any]] = field(default_factory=list)
    message: tuple[str, str] = ("", "")
    refused: list[str] = field(default_factory=list)
    pages: int = 0
    requested: float = field(init=False)

    def __post_init__(self) -> None:
        self.note_request()

    @classmethod
    def begin(
        cls, folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> "PageSession":
        """Return a session with a private folder of its own."""
        private = Path(tempfile.mkdtemp(prefix="aggopt-app-"))
        return cls(StartFolder(Path(os.path.realpath(folder))), private, clock=clock)

    def end(self) -> None:
        """Remove the private folder."""
        shutil.rmtree(self.private, ignore_errors=True)

    def note_request(self) -> None:
        """Note that a person is there."""
        self.requested = self.clock()

    @property
    def seconds_left(self) -> float:
        """Seconds until the page ends, unless a request comes or a task runs."""
        if self.process.is_busy:
            self.requested = self.clock()
        return self.requested + IDLE - self.clock()

    @property
    def job(self) -> str:
        """The text of the job."""
        return self.history.text

    @property
    def undecided(self) -> list[dict[str, Any]]:
        """The columns of the table that have no role."""
        roles = parse_roles(self.job)
        columns = [] if self.table is None else self.table["columns"]
        return [column for column in columns if column["name"] not in roles]

    def is_done(self, step: str) -> bool:
        """Return whether a step has its result for the job that holds now."""
        if step in ("table", "roles"):
            return self.table is not None and (step == "table" or not self.undecided)
        return any(self.find_result(task) for task in RESULTS[step])

    @property
    def is_changed(self) -> bool:
        """Whether the table is another file than the one that was opened."""
        if self.table is None:
            return False
        try:
            path = self.start.find_file(self.table["table"])
            return bool(identify_file(path) != self.table["state"])
        except (OSError, ValueError):
            return True

    def find_result(self, task: str) -> dict[str, Any] | None:
        """Return the result of a task for the job that holds now; None without."""
        return self.results.get((task, self.job))

    async def run(self, task: str, **arguments: Any) -> None:
        """Run a task on the table and the job, and keep its result."""
        if self.table is None:
            return
        job = self.job
        result = await self.process.run(
            task,
            folder=str(self.start.path),
            private=str(self.private),
            table=self.table["table"],
            state=self.table["state"],
            job=job,
            **arguments,
        )
        if result is not None:
            self.results[task, job] = result
            if task == "write":
                self.results["mask", job] = result
            await self.process.announce()

    async def open_table(self, name: str, **text_format: Any) -> bool:
        """Open a table and propose its job; return whether it was read."""
        result = await self.process.run(
            "open", folder=str(self.start.path), table=name, **text_format
        )
        if result is not None:
            self.table = result
            self.history = History()
            self.results.clear()
            self.compared.clear()
            await self._set_job(result["job"], [])
        return result is not None

    async def open_job(self, name: str) -> None:
        """Open a job or a manifest in place of the job."""
        folder = str(self.start.path)
        result = await self.process.run("read job", folder=folder, name=name)
        if result is not None:
            await self._set_job(result["job"], result["refused"])

    async def _set_job(self, text: str, refused: list[str]) -> None:
        self.history.set(text)
        self.refused = refused
        await self.process.announce()

    def set_output(self, text: str) -> None:
        """Set a job that differs in the words of its report: results stay."""
        before = self.job
        self.history.set(text)
        of_job = {task: r for (task, job), r in self.results.items() if job == before}
        self.results |= {(task, text): result for task, result in of_job.items()}

    def add_to_comparison(self) -> None:
        """Keep the release of this job to compare it; the oldest leaves."""
        result = self.find_result("mask")
        if result is not None:
            others = [each for each in self.compared if each["job"] != self.job]
            self.compared = [*others, {**result, "job": self.job}][-SIDE_BY_SIDE:]
            self.results["compare", self.job] = result
