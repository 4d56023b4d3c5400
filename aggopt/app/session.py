"""What a person has set so far: the table, the job with its history, the results."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aggopt.app.job_text import parse_roles, remove_titles
from aggopt.app.process import ComputingProcess
from aggopt.app.start_folder import StartFolder
from aggopt.app.texts import FIRST
from aggopt.errors import AggoptError

IDLE = 3600.0  # seconds without a request after which the page ends
WARNING = 300.0  # seconds before that in which it says so
PREVIEW = 2000  # records of a preview: masked in two seconds
SIDE_BY_SIDE = 4  # releases that are compared
STEPS = ("table", "roles", "risk", "protect", "compare", "release")


class PageSession:
    """One person at one table; pages show it, and tasks change it."""

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.start = StartFolder(Path(os.path.realpath(folder)))
        self.private = Path(tempfile.mkdtemp(prefix="aggopt-app-"))  # for the owner
        self.clock = clock
        self.process = ComputingProcess(self.start.path, self.private)
        self.language = FIRST
        self.table: dict[str, Any] = {}  # the proposal for it
        self.jobs = [""]  # in the order of changes
        self.place = 0  # of the job that holds now
        self.results: dict[tuple[str, str], dict[str, Any]] = {}  # by task and job
        self.compared: list[dict[str, Any]] = []
        self.error: AggoptError | None = None  # which the next page shows
        self.pages = 0
        self.note_request()

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
        """The text of the job that holds now; "" without a table."""
        return self.jobs[self.place]

    def set_job(self, text: str) -> None:
        """Set the job; what was undone is forgotten."""
        if text != self.job:
            self.jobs[self.place + 1 :] = [text]
            self.place += 1

    def move(self, by: int) -> None:
        """Return to the job before, by -1, or to one that was undone."""
        self.place = min(max(self.place + by, 0), len(self.jobs) - 1)

    @property
    def undecided(self) -> list[dict[str, Any]]:
        """The columns of the table that have no role."""
        roles = parse_roles(self.job)
        return [c for c in self.table.get("columns", []) if c["name"] not in roles]

    @property
    def is_changed(self) -> bool:
        """Whether the table is another file than the one that was opened."""
        table = self.table
        return bool(table) and not self.start.has_state(table["table"], table["state"])

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

        file, state = self.table["table"], self.table["state"]
        inputs = {"file": file, "state": state, "text": self.job}
        await self.process.run(keep, task, inputs, **settings)

    async def open_table(self, name: str, **text_format: str) -> None:
        """Open a table and propose its job."""

        def keep(result: dict[str, Any]) -> None:
            self.table = result
            self.jobs, self.place = [result["job"]], 0
            self.results.clear()
            self.compared.clear()

        await self.process.run(keep, "open", {"file": name}, **text_format)

    async def open_job(self, name: str) -> None:
        """Open a job or a manifest in place of the job."""
        process = self.process
        await process.run(lambda r: self.set_job(r["job"]), "read job", {"file": name})

    def add_to_comparison(self) -> None:
        """Add the release of this job to the comparison; the oldest one leaves."""
        result = self.find_result("mask")
        if result is not None:
            others = [each for each in self.compared if each["job"] != self.job]
            self.compared = [*others, {**result, "job": self.job}][-SIDE_BY_SIDE:]
            self.results["compare", remove_titles(self.job)] = result
