"""The cells of an experiment on their way: groups once for all that share them."""

from collections import defaultdict
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from aggopt.core.equality import to_hashable
from aggopt.core.frame import compute_fingerprint
from aggopt.core.parallel import run_in_processes
from aggopt.core.plural import is_or_are, plural
from aggopt.core.randomness import derive_secret
from aggopt.core.validation import is_whole_number
from aggopt.data.readers.read import read_file
from aggopt.data.table import Table
from aggopt.errors import AggoptError, JobError, naming, require_known
from aggopt.experiments._cache import Cache, compute_key
from aggopt.experiments._cell import (
    Done,
    Figures,
    Work,
    describe_failure,
    is_in_time,
    run_cells,
)
from aggopt.experiments.grid import Cell
from aggopt.job import Job, Mean, Output, Roles
from aggopt.pipeline.partition.partitioned_table import Partitions
from aggopt.pipeline.prepare.job_settings import is_variance_kept
from aggopt.solvers.solver_log import is_logged


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables by name, and their content once read."""

    given: Mapping[str, Any] = field(repr=False)
    _read: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _known: dict[Hashable, str] = field(default_factory=dict, repr=False)

    def data(self, cell: Cell) -> Any:
        """Return the table of a cell; raises as `aggopt.mask`, of files alone."""
        table = self.given[cell.table]
        job = cell.job
        if not isinstance(table, str | Path):
            return table
        reading_key = cell.table, job.roles, job.input, to_hashable(job.attributes)
        if reading_key not in self._read:
            self._read[reading_key] = read_file(
                Path(table), job.roles, job.input, job.attributes
            )
        return self._read[reading_key]

    def fingerprint(self, cell: Cell) -> str:
        """Return the SHA-256 of the table of a cell; raises as `aggopt.mask`."""
        job = cell.job
        table_key = (
            cell.table,
            job.roles,
            job.input,
            to_hashable(job.attributes),
            job.missing,
        )
        if table_key not in self._known:
            data = self.data(cell)
            table = Table.of(data, job.roles, job.attributes, missing=job.missing)
            self._known[table_key] = compute_fingerprint(table.frame)
        return self._known[table_key]


def name_tables(tables: Any) -> dict[str, Any]:
    """Return tables by name: the name of a file, or the place in a list.

    Raises
    ------
    JobError
        No table is given, two have one name, or a name is not text.
    """
    if isinstance(tables, Mapping):
        pairs = list(tables.items())
    else:
        listed = tables if isinstance(tables, list | tuple) else [tables]
        pairs = [(_name_table(table, j), table) for j, table in enumerate(listed)]
    names = [name for name, _ in pairs]
    if not names:
        raise JobError("There are no tables.", fix="pass some, by name.")
    if not all(isinstance(name, str) and name for name in names):
        raise JobError("A table has a name that is no text.", fix="name it by a text.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise JobError(
            f"Two tables are called {twice[0]!r}.",
            fix='name them: {"a name": table, "another": table}.',
        )
    return dict(pairs)


def _name_table(table: Any, place: int) -> str:
    return Path(table).stem if isinstance(table, str | Path) else str(place)


def read_roles(roles: Any, names: list[str]) -> dict[str, Any]:
    """Return the roles of each table, which are given once, or by table.

    Raises
    ------
    JobError
        They are given by table, and one is missing, or is of no table.
    """
    by_table = isinstance(roles, Mapping) and all(
        isinstance(table_roles, Mapping | Roles) for table_roles in roles.values()
    )
    if not (by_table and roles):
        return dict.fromkeys(names, roles)
    for name in roles:
        require_known("table", name, names)
    left = [name for name in names if name not in roles]
    if left:
        raise JobError(
            f"The table {left[0]!r} has no roles.",
            fix="give the roles of each table, or those of all once.",
        )
    return {name: roles[name] for name in names}


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
        waiting = self._search_cache()
        yield len(self.found)
        partitions: dict[Family, Partitions] = {}
        while waiting:
            now = {f: p if f in partitions else p[:1] for f, p in waiting.items()}
            waiting = {
                f: p[1:] for f, p in waiting.items() if f not in partitions and p[1:]
            }
            family = {place: f for f, places in now.items() for place in places}
            works = self._list_works(family, partitions)
            partitions = {}
            with closing(run_in_processes(run_cells, works, jobs)) as outcomes:
                for outcome in chain.from_iterable(outcomes):
                    family_of_cell = family[outcome.place]
                    if outcome.groups is not None:
                        partitions[family_of_cell] = outcome.groups
                    late = (
                        not is_in_time(outcome.failure)
                        and family_of_cell not in partitions
                    )
                    self._take(outcome, waiting.pop(family_of_cell, []) if late else [])
                    yield len(self.found)

    def rows(self) -> Iterator[Figures]:
        """Yield all rows, in the order of the cells."""
        for place, cell in enumerate(self.cells):
            for row in self.found[place]:
                yield {**cell.start, "error": None, "message": None, **row}

    @property
    def so_far(self) -> str:
        """Number of finished cells, and whether they are kept."""
        done = len(self.found)
        count = f"{done} of {plural(len(self.cells), 'cell')} {is_or_are(done)} done"
        if self.cache.folder is None:
            return f"{count}, and not kept: name a cache to go on another time."
        return f"{count}, and kept in {self.cache.folder}: call again to go on."

    def _search_cache(self) -> Families:
        """Look for cells in the cache; return the remaining ones, by their groups."""
        left: Families = defaultdict(list)
        for place, cell in enumerate(self.cells):
            try:
                with naming(f"Cell {cell.called}"):
                    mark = self.tables.fingerprint(cell)
            except AggoptError as error:
                if self.raises:
                    raise
                self.found[place] = [describe_failure(error)]
                continue
            rows = None
            if self.cache.folder is not None:
                key = compute_key(mark, cell.job, _make_secret(cell), self.seconds)
                self.keys[place], rows = key, self.cache.rows(key, cell)
            if rows is None:
                left[_make_group_key(cell)].append(place)
            else:
                self.found[place] = rows
        return left

    def _list_works(
        self, family: Mapping[int, Family], partitions: Mapping[Family, Partitions]
    ) -> list[list[Work]]:
        """Return work by places, that together which shares orderings of records."""
        works: dict[Hashable, list[Work]] = defaultdict(list)
        for place, family_of_cell in family.items():
            cell = self.cells[place]
            groups = partitions.get(family_of_cell)
            alone = groups is not None or not cell.job.partition.same_orderings
            works[place if alone else _make_order_key(family_of_cell)].append(
                self._make_work(place, groups)
            )
        return list(works.values())

    def _make_work(self, place: int, groups: Partitions | None) -> Work:
        """Return the work of one cell, ready for another process."""
        cell = self.cells[place]
        return Work(
            place=place,
            called=cell.called,
            data=self.tables.data(cell),
            job=cell.job,
            secret=_make_secret(cell),
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


def _make_secret(cell: Cell) -> str:
    """Return the secret of the margins: equal for all jobs, so that they compare."""
    return derive_secret(cell.seed or 0)


def _make_group_key(cell: Cell) -> Family:
    """Return the key that is equal for cells that share groups."""
    job = cell.job
    common = job.model_copy(update={"aggregation": Mean(), "output": Output()})
    holes = job.missing.policy != "refuse"  # then one group keeps no variance
    return cell.table, common, holes and is_variance_kept(job)


def _make_order_key(shared: Family) -> Hashable:
    """Return the key that is equal for cells that share orderings: all but k."""
    table, job, keeps = shared
    any_k = job.privacy.model_copy(update={"k": 1})
    return table, job.model_copy(update={"privacy": any_k}), keeps


def require_jobs(jobs: object) -> None:
    """Refuse an invalid number of processes.

    Raises
    ------
    JobError
        It is 0, or not a whole number; or it is several although the output of solvers
        is kept, which requires one process.
    """
    if not is_whole_number(jobs) or jobs == 0:
        raise JobError(f"jobs = {jobs}.", fix="name a number of processes, or -1.")
    if jobs != 1 and is_logged():
        raise JobError(
            f"jobs = {jobs}, and a log of solvers is kept, which is of one process.",
            fix="set jobs = 1, or keep no log.",
        )
