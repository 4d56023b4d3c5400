"""The section of a job that keeps the groups of an earlier release."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from aggopt.core.plural import plural
from aggopt.core.regular_files import resolve_path
from aggopt.core.section import SolverName
from aggopt.core.types import Labels
from aggopt.errors import JobError
from aggopt.partition.kept_groups import keep_groups
from aggopt.partition.registry import Partitioner
from aggopt.partition.shared.settings import TOGETHER, Grouping

KEPT = Partitioner(
    name="keep_groups",
    when="another release, or a later wave, in the groups of an earlier one",
    function=keep_groups,
    settings=Grouping,
    model="wave_groups",
)


class EarlierGroups(Grouping):
    """The groups in the private key of an earlier release.

    Attributes
    ----------
    keep_groups
        The path of the key, NAME.private.csv; or the keys of several earlier releases,
        the oldest first.  The groups of the last are kept.
    earlier
        The table that the earlier release was made from, or that of each; changes are
        counted against all of them.
    person
        The identifier of a person in both tables.  If left out, both have equal records
        in equal order.
    changes
        The response if fewer than k people left a group, joined one, or changed a value
        in one: "refuse"; "hold back", which leaves records out until none or k did; or
        "merge", which lets new records join by k, merges groups of few changes, and
        holds back the remaining records.
    solver, time_limit
        Of the model that "merge" solves; the limit is in seconds, 60 when left out.
    """

    method: Literal["keep_groups"] = "keep_groups"
    keep_groups: str | Annotated[tuple[str, ...], Field(min_length=1)]
    earlier: str | tuple[str, ...] | None = None
    person: str | None = None
    changes: Literal["refuse", "hold back", "merge"] = "refuse"
    solver: SolverName = None
    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )
    _labels: Labels | None = PrivateAttr(default=None)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the function: the earlier group of each record."""
        return {"labels": self._labels}

    @property
    def keys(self) -> tuple[Path, ...]:
        """The private keys of the earlier releases, the oldest first."""
        return _list_paths(self.keep_groups)

    @property
    def tables(self) -> tuple[Path, ...]:
        """The tables that the earlier releases were made from; none if left out."""
        return () if self.earlier is None else _list_paths(self.earlier)

    @property
    def own(self) -> Any:
        """The method `KEPT`, which is not one of the methods that partition a table."""
        return KEPT

    def require(self, k: int) -> None:
        """Refuse blocks of attributes, and settings that lack a key they need."""
        if self.attributes != TOGETHER:
            raise JobError(
                "[partition] keep_groups has one group for each record, and attributes "
                "asks for groups in blocks.",
                fix="leave attributes out.",
            )
        if self.earlier is not None and len(self.tables) != len(self.keys):
            raise JobError(
                f"[partition] keep_groups names {plural(len(self.keys), 'key')}, and "
                f"earlier names {plural(len(self.tables), 'table')}.",
                fix="name the table of each key, in the order of the keys.",
            )
        if self.earlier is None and len(self.keys) > 1:
            raise JobError(
                f"[partition] keep_groups names {len(self.keys)} keys, and no earlier "
                "tables: aggopt cannot count changes since these releases.",
                fix="name the table of each key, in the order of the keys: earlier = "
                '["FILE", "FILE"].',
            )
        if self.earlier is None and self.person is not None:
            raise JobError(
                "[partition] names a person and no earlier table, in which to find it.",
                fix="name the table that the earlier release was made from, earlier = "
                '"FILE"; or no person, for the same records in the same order.',
            )
        if self.changes != "refuse" and self.person is None:
            raise JobError(
                f"[partition] changes = {self.changes!r} leaves records out, and needs "
                "an identifier that both tables have.",
                fix="name the table that the earlier release was made from, earlier = "
                '"FILE", and the identifier that both tables have, person = "NAME".',
            )
        names = [n for n in ("solver", "time_limit") if getattr(self, n) is not None]
        if names and self.changes != "merge":
            raise JobError(
                f"[partition] names {' and '.join(names)}, and changes = "
                f"{self.changes!r} solves nothing.",
                fix='set changes = "merge", or leave them out.',
            )

    def resolve_from(self, folder: Path) -> "EarlierGroups":
        """Return it with its paths seen from a folder."""
        paths = {"keep_groups": self.keep_groups, "earlier": self.earlier}
        resolved = {n: _resolve_from(folder, path) for n, path in paths.items() if path}
        return self.model_copy(update=resolved)

    def of_records(self, labels: Labels) -> "EarlierGroups":
        """Return it with the earlier group of each record (n,), -1 of new ones."""
        section = self.model_copy()
        section._labels = labels
        return section


def _list_paths(paths: str | tuple[str, ...]) -> tuple[Path, ...]:
    """Return one path or several as a tuple of paths."""
    return tuple(map(Path, (paths,) if isinstance(paths, str) else paths))


def _resolve_from(folder: Path, paths: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Return paths as text, seen from a folder; one path remains one."""
    resolved = tuple(str(resolve_path(folder / path)) for path in _list_paths(paths))
    return resolved[0] if isinstance(paths, str) else resolved
