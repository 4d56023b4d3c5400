"""l-diversity: number and evenness of the confidential values of each group."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, StrictInt

from aggopt.core.section import Finite, Section, to_int
from aggopt.core.types import F64, I64, Bool
from aggopt.errors import InfeasibleInputError
from aggopt.privacy._diversity import Counts, read_factor
from aggopt.privacy.model import Attribute, PrivacyModel
from aggopt.privacy.requirement import Check, Requirement

CLOSE = 1e-9  # share of l by which an entropy must differ to be compared as a float


@dataclass(frozen=True, eq=False)
class Diversity(Requirement):
    """Each group has l of the codes (n,): distinct, by their entropy, or recursively.

    `c` belongs to the recursive kind.  If the codes are levels, `values` is their
    number of distinct values.
    """

    model: ClassVar[str] = "l"

    attribute: str
    codes: I64 = field(repr=False)
    required_l: int
    kind: str = "distinct"
    c: float | None = None
    values: int | None = None

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.codes)

    @property
    def name(self) -> str:
        """The kind of diversity, and the levels that it counts, if any."""
        kind = self.kind + (" l" if self.c is None else f" ({self.c:g}, l)")
        if self.values is None:
            return kind
        return f"{kind} of {describe_levels(self._distinct)} of {self.values} values"

    @property
    def required(self) -> float:
        """The required l."""
        return float(self.required_l)

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the l of each group, (groups,)."""
        counts = self._count_values(records, starts)
        if self.kind == "recursive":
            return counts.recursive(read_factor(self.c)).astype(float)
        chosen = counts.entropy if self.kind == "entropy" else counts.distinct
        return np.asarray(chosen, dtype=float)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group has less than l, decided exactly."""
        values = self.measure_groups(records, starts)
        broken = np.asarray(values < self.required_l)
        if self.kind != "entropy":
            return broken
        counts = self._count_values(records, starts)
        for g in np.flatnonzero(
            np.abs(values - self.required_l) < CLOSE * self.required_l
        ):
            broken[g] = not _has_entropy(counts, g, self.required_l)
        return broken

    def describe_kept(self, value: float) -> str:
        """Return the l that these groups satisfy."""
        return f"l of at most {int(value)}"

    def list_remedies(self, total: Check) -> list[str]:
        """Return feasible alternatives, including other kinds of diversity."""
        possible = int(total.found)
        ways = [f"promise {total.keeps}{'' if possible > 1 else ', that is none'}"]
        if self._distinct > possible:
            ways.append(
                f'diversity = "distinct", of which l = {self._distinct} is the largest'
            )
        if self.kind == "recursive":
            ways.append("a larger c")
        if self.values is not None:
            ways.append(
                "other levels: equal values share one, and you may name where they "
                "end, levels = [...]; or none, so that l counts distinct values"
            )
        return ways

    def explain_infeasible(self, k: int) -> InfeasibleInputError | None:
        """Return why no groups are so diverse; None if one of all records is."""
        total = self.check(np.zeros(self.n, np.intp))
        if total.holds:
            return None
        return InfeasibleInputError(
            f"l = {self.required_l} ({total.promise}) cannot be kept of "
            f"{self.attribute!r}: all {total.worst} records together have "
            f"{total.found:.6g}, and not every group can have more.",
            fix=", or ".join([*self.list_remedies(total), "drop the attribute, as "])
            + "identifier.",
        )

    @property
    def _distinct(self) -> int:
        """The number of distinct values in the table."""
        return int(self.codes.max()) + 1

    def _count_values(self, records: I64, starts: I64) -> Counts:
        """Return the counts of each value in each group."""
        sizes = np.diff(starts)
        return Counts.of(np.repeat(np.arange(len(sizes)), sizes), self.codes[records])


def describe_levels(count: int) -> str:
    """Return the number of levels in words."""
    return f"{count} level{'s'[: count - 1]}"


def _has_entropy(counts: Counts, g: np.integer[Any], l: int) -> bool:  # noqa: E741
    """Whether a group's entropy is at least log l: s^s >= l^s prod_v c_v^c_v."""
    of_group = counts.count[counts.starts[g] : counts.starts[g + 1]]
    count_list = (of_group // np.gcd.reduce(of_group)).tolist()
    size = sum(count_list)
    return bool(size**size >= l**size * prod(c**c for c in count_list))


class Settings(Section):
    """The keys of l.

    Attributes
    ----------
    l, diversity, c
        Least diversity of each confidential attribute among records that share their
        published values: `aggopt.privacy.distinct_l`, `entropy_l`, or, with its c,
        `recursive_cl`.
    """

    l: Annotated[StrictInt | None, BeforeValidator(to_int)] = Field(  # noqa: E741
        default=None,
        ge=2,
        description="ask for a whole number of at least 2: with l = 1 a group may "
        "share one value.",
    )
    diversity: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        strict=True,
        description="write a number above 0, such as c = 3.0.",
    )


class Treatment(Section):
    """Values of one attribute that l counts.

    Attributes
    ----------
    levels
        Levels in place of the distinct values of numbers: a number of levels with
        equally many records, or the values at which levels end.
    """

    levels: Annotated[
        StrictInt | Annotated[tuple[Finite, ...], Field(min_length=1)] | None,
        BeforeValidator(to_int),
    ] = Field(
        default=None,
        description="ask for a whole number of levels, such as levels = 20, or name "
        "where they end, lowest first: levels = [1000, 5000].",
    )


def _build_requirement(attribute: Attribute, settings: Settings) -> Requirement:
    """Return the requirement on an attribute for the settings of `[privacy]`."""
    if settings.l is None:
        raise ValueError("No l is required.")
    codes = attribute.codes
    values = None
    if attribute.treatment.levels is not None:
        codes, values = attribute.levels(), int(codes.max()) + 1
    return Diversity(
        attribute.name, codes, settings.l, settings.diversity, settings.c, values
    )


def _check(settings: Settings) -> None:
    """Refuse settings of diversity that contradict each other."""
    if (settings.diversity == "recursive") != (settings.c is not None):
        raise ValueError('diversity = "recursive" and c go together')


def _describe_sense(settings: Settings, treatments: Sequence[Any]) -> str:
    """Return the text of the required diversity for a note."""
    return f"in the sense of {settings.diversity} diversity"


def _is_simple(settings: Settings, treatments: Sequence[Any]) -> bool:
    """Whether only distinct or entropy diversity is required, as searches can."""
    return settings.diversity != "recursive"


METHOD = PrivacyModel(
    name="l",
    when="no confidential value is certain, or nearly so, in a group",
    rank=10,
    settings=Settings,
    treatment=Treatment,
    requirement=_build_requirement,
    check=_check,
    sense=_describe_sense,
    simple=_is_simple,
    template="""\
# l = 3                  # different values, at least; they are audited, like k and t
# diversity = "distinct" # or "entropy" (even frequencies), "recursive" (with c = 3.0)
""",
)
