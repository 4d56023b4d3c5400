"""A running choice: the requested points, and the results so far."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aggopt.core.plugins.trust import trust_files
from aggopt.experiments._cache import Cache
from aggopt.experiments._choice import Choices
from aggopt.experiments._choice_grid import AXES, cells_of_choice
from aggopt.experiments._choice_point import point_of
from aggopt.experiments._choice_result import require_loss, require_share
from aggopt.experiments._run import Run
from aggopt.experiments._tables import Tables
from aggopt.job import Job
from aggopt.pipeline.partition.partition_table import load_job
from aggopt.solvers.options import check_time_limit


@dataclass(eq=False)
class Choosing:
    """A running choice; `found` are its results so far."""

    run: Run
    table: Path | None
    at_most: float
    loss: str

    @classmethod
    def of(
        cls,
        table: Any,
        job: Job | str | Path,
        axes: Mapping[str, Any],
        *,
        at_most: float,
        loss: str,
        time_limit: float | None = None,
        cache: str | Path | None = None,
        trust: Iterable[str | Path] = (),
    ) -> "Choosing":
        """Return the choice that `choose` makes, nothing of it done; raises as that."""
        require_loss(loss)
        most = require_share(at_most)
        check_time_limit(time_limit)
        with trust_files(trust):
            asked = {name: axes.get(name) for name in AXES}
            cells = cells_of_choice("table", load_job(job, trust), asked, time_limit)
        tables = Tables({"table": table})
        tables.fingerprint(cells[0])  # what cannot be read is refused at once
        run = Run(cells, tables, Cache(cache), seconds=None, raises=False)
        path = Path(table) if isinstance(table, str | Path) else None
        return cls(run, path, most, loss)

    def through(self, jobs: int) -> Generator[float]:
        """Go through the points; yield the share of them that is done."""
        for count in self.run.through(jobs):
            yield count / len(self.run.cells)

    @property
    def found(self) -> Choices:
        """Results so far."""
        points = tuple(
            point_of(place + 1, cell.said, cell.job, self.run.found[place])
            for place, cell in enumerate(self.run.cells)
            if place in self.run.found
        )
        return Choices(points, len(self.run.cells), self.table, self.at_most, self.loss)
