"""What a person has set so far: the table, the job with its history, the results."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggopt.app.job_text import find_unsupported_setting, parse_roles, remove_titles
from aggopt.app.process import ComputingProcess
from aggopt.app.start_folder import StartFolder
from aggopt.app.texts import FIRST
from aggopt.errors import JobError

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
    """The texts of the job, in the order in which they were set; "" before a table."""

    texts: list[str] = field(default_factory=lambda: [""])
    place: int = 0

    @property
    def text(self) -> str:
        """The job that holds now."""
        return self.texts[self.place]

    def set(self, text: str) -> None:
        """Set the job; what was undone is forgotten."""
        if text != self.text:
            self.texts[self.place + 1 :] = [text]
            self.place += 1

    def move(self, by: int) -> None:
        """Return to the job before, by -1, or to one that was undone."""
        self.place = min(max(self.place + by, 0), len(self.texts) - 1)


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
        The proposal for the table that is open; empty before.
    results
        The results of tasks, by the task and the job that they are of.
    compared
        Releases that are shown side by side, each with its job.
    message
        A sentence on the last request, which the next page shows, with its fix.
    """

    start: StartFolder
    private: Path
    clock: Callable[[], float]
    language: str = FIRST
    table: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)
    results: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    compared: list[dict[str, Any]] = field(default_factory=list)
    message: tuple[str, str] = ("", "")
    pages: int = 0

    def __post_init__(self) -> None:
        self.process = ComputingProcess(self.start.path, self.private)
        self.note_request()

    @classmethod
    def begin(
        cls, folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> "PageSession":
        """Return a session with a private folder of its own."""
        private = Path(tempfile.mkdtemp(prefix="aggopt-app-"))
        return cls(StartFolder(Path(os.path.realpath(folder))), private, clock)

    def end(self) -> None:
        """Remove the private folder."""
        shutil.rmtree(self.private, ignore_errors=True)

    def note_request(self) -> None:
        """Note that a person is there."""
        self.requested = self.clock()

    @property
    def seconds_left(self) -> float:
        """Seconds until the page ends, unless a request comes or a task runs."""
        if self.process.activity.status == "running":
            self.note_request()
        return self.requested + IDLE - self.clock()

    @property
    def job(self) -> str:
        """The text of the job."""
        return self.history.text

    @property
    def refusal(self) -> JobError | None:
        """Why the job is shown and does not run; None if it runs."""
        return find_unsupported_setting(self.job)

    @property
    def undecided(self) -> list[dict[str, Any]]:
        """The columns of the table that have no role."""
        roles = parse_roles(self.job)
        columns = self.table.get("columns", [])
        return [column for column in columns if column["name"] not in roles]

    @property
    def is_changed(self) -> bool:
        """Whether the table is another file than the one that was opened."""
        table = self.table
        return bool(table) and not self.start.has_state(table["table"], table["state"])

    def is_done(self, step: str) -> bool:
        """Return whether a step has its result for the job that holds now."""
        if step in ("table", "roles"):
            return bool(self.table) and (step == "table" or not self.undecided)
        return any(self.find_result(task) for task in RESULTS[step])

    def find_result(self, task: str) -> dict[str, Any] | None:
        """Return the result of a task for the current job; None if it has none."""
        return self.results.get((task, remove_titles(self.job)))

    async def run(self, task: str, **settings: Any) -> None:
        """Run a task on the table and the job, and keep its result."""
        key = remove_titles(self.job)

        def keep(result: dict[str, Any]) -> None:
            self.results[task, key] = result
            if task == "write":
                self.results["mask", key] = result

        table = {"file": self.table["table"], "state": self.table["state"]}
        await self.process.run(keep, task, **table, job=self.job, **settings)

    async def open_table(self, name: str, **text_format: str) -> None:
        """Open a table and propose its job."""

        def keep(result: dict[str, Any]) -> None:
            self.table = result
            self.history = History([result["job"]])
            self.results.clear()
            self.compared.clear()

        await self.process.run(keep, "open", file=name, **text_format)

    async def open_job(self, name: str) -> None:
        """Open a job or a manifest in place of the job."""
        process = self.process
        await process.run(lambda r: self.history.set(r["job"]), "read job", file=name)

    def add_to_comparison(self) -> None:
        """Add the release of this job to the comparison; the oldest one leaves."""
        result = self.find_result("mask")
        if result is not None:
            others = [each for each in self.compared if each["job"] != self.job]
            self.compared = [*others, {**result, "job": self.job}][-SIDE_BY_SIDE:]
            self.results["compare", remove_titles(self.job)] = result
