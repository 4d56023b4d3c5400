"""The cells of an experiment on their way: groups once for all that share them."""

from collections import defaultdict
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain

from aggopt.core.plural import plural
from aggopt.core.processes import run_in_processes
from aggopt.core.randomness import secret_from_seed
from aggopt.errors import AggoptError, naming
from aggopt.experiments._cache import Cache, key_of
from aggopt.experiments._cell import (
    Done,
    Figures,
    Work,
    all_done,
    failure_of,
    in_time,
)
from aggopt.experiments._grid import Cell
from aggopt.experiments._tables import Tables
from aggopt.job import Job, Mean, Output
from aggopt.pipeline.partition.partitioned_table import Partitions
from aggopt.pipeline.validate.preflight_checks import keeps_variance

Family = tuple[str, Job, bool]  # key that is equal for cells that share groups
Families = dict[Family, list[int]]  # their places


@dataclass(eq=False)
class Run:
    """The cells of an experiment, and what came of them so far, by their places."""

    cells: Sequence[Cell]
    tables: Tables
    cache: Cache
    seconds: float | None
    raises: bool
    found: dict[int, list[Figures]] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)

    def through(self, jobs: int) -> Generator[int]:
        """Run the cells, cached ones first; yield the number of finished cells.

        In each round one of the cells that share groups makes them.  In the next round
        the others get them; or, if it failed before, one of them tries.
        """
        waiting = self._sought()
        yield len(self.found)
        made: dict[Family, Partitions] = {}
        while waiting:
            now = {f: p if f in made else p[:1] for f, p in waiting.items()}
            waiting = {f: p[1:] for f, p in waiting.items() if f not in made and p[1:]}
            family = {place: f for f, places in now.items() for place in places}
            works = self._works(family, made)
            made = {}
            with closing(run_in_processes(all_done, works, jobs)) as outcomes:
                for outcome in chain.from_iterable(outcomes):
                    own = family[outcome.place]
                    if outcome.groups is not None:
                        made[own] = outcome.groups
                    late = not in_time(outcome.failure) and own not in made
                    self._take(outcome, waiting.pop(own, []) if late else [])
                    yield len(self.found)

    def rows(self) -> Iterator[Figures]:
        """Yield all rows, in the order of the cells."""
        for place, cell in enumerate(self.cells):
            for row in self.found[place]:
                yield {**cell.start, "error": None, "message": None, **row}

    @property
    def so_far(self) -> str:
        """Number of finished cells, and whether they are kept."""
        count = f"{len(self.found)} of {plural(len(self.cells), 'cell')} are done"
        if self.cache.folder is None:
            return f"{count}, and not kept: name a cache to go on another time."
        return f"{count}, and kept in {self.cache.folder}: call again to go on."

    def _sought(self) -> Families:
        """Look for cells in the cache; return the remaining ones, by their groups."""
        left: Families = defaultdict(list)
        for place, cell in enumerate(self.cells):
            try:
                with naming(f"Cell {cell.called}"):
                    mark = self.tables.fingerprint(cell)
            except AggoptError as error:
                if self.raises:
                    raise
                self.found[place] = [failure_of(error)]
                continue
            rows = None
            if self.cache.folder is not None:
                key = key_of(mark, cell.job, _secret(cell), self.seconds)
                self.keys[place], rows = key, self.cache.rows(key, cell)
            if rows is None:
                left[_shared(cell)].append(place)
            else:
                self.found[place] = rows
        return left

    def _works(
        self, family: Mapping[int, Family], made: Mapping[Family, Partitions]
    ) -> list[list[Work]]:
        """Return work by places, that together which shares orderings of records."""
        found: dict[Hashable, list[Work]] = defaultdict(list)
        for place, own in family.items():
            cell, groups = self.cells[place], made.get(own)
            alone = groups is not None or not cell.job.partition.same_orderings
            found[place if alone else _ordered(own)].append(self._work(place, groups))
        return list(found.values())

    def _work(self, place: int, groups: Partitions | None) -> Work:
        cell = self.cells[place]
        return Work(
            place=place,
            called=cell.called,
            data=self.tables.data(cell),
            job=cell.job,
            secret=_secret(cell),
            seconds=self.seconds,
            groups=groups,
            raises=self.raises,
        )

    def _take(self, outcome: Done, alike: Sequence[int]) -> None:
        """Record the result of a cell, and of cells that fail for an equal reason."""
        if outcome.failure is not None:
            for place in (outcome.place, *alike):
                self.found[place] = [outcome.failure]
            return
        if outcome.place in self.keys:
            self.cache.keep(self.keys[outcome.place], outcome.rows)
        self.found[outcome.place] = outcome.rows


def _secret(cell: Cell) -> str:
    """Return the secret of the margins: equal for all jobs, so that they compare."""
    return secret_from_seed(cell.seed or 0)


def _shared(cell: Cell) -> Family:
    """Return the key that is equal for cells that share groups."""
    job = cell.job
    common = job.model_copy(update={"aggregation": Mean(), "output": Output()})
    holes = job.missing.policy != "refuse"  # then one group keeps no variance
    return cell.table, common, holes and keeps_variance(job)


def _ordered(shared: Family) -> Hashable:
    """Return the key that is equal for cells that share orderings: all but k."""
    table, job, keeps = shared
    any_k = job.privacy.model_copy(update={"k": 1})
    return table, job.model_copy(update={"privacy": any_k}), keeps
