"""Constraints of l and t on the groups of a search, checked exactly.

`Close`, `Diverse` and `Promise` are their state in compiled searches.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import encode_values, iter_columns
from aggopt.core.plural import plural
from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import (
    Floats,
    Labels,
    check_matrix,
    find_caller_stacklevel,
    is_number,
    is_whole_number,
)
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    TableError,
    naming,
    require_known,
)
from aggopt.privacy.closeness import warn_of_constant
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.ordered_attribute import Ordered, read_threshold, require_bins
from aggopt.privacy.requirement import Requirement, find_broken_groups
from aggopt.privacy.value_levels import fill_equally


class Close(NamedTuple):
    """Constraint that groups are t-close to the table, decided in whole numbers.

    place (n,), sums (m + 1,) and first (n + 1,) as in
    `aggopt.privacy.ordered_attribute.Ordered`; limits (n + 1,), the largest numerator
    of a group by its size; split, for groups of s up to TABLED, first[n r // s] at
    s (s + 1) / 2 + r; place_sum, the sum of all places. An empty place: t is not
    required.

    During a search, far (n,) are the groups' numerators, and lean (n,) the signed sums
    of their terms, up to one sign for all: |lean| <= far.
    """

    place: I64
    sums: I64
    first: I64
    limits: I64
    split: I64
    place_sum: int
    far: I64
    lean: I64


class Diverse(NamedTuple):
    """Constraint that groups have l of the levels (n,), or entropies of log l.

    `required` is l, `logarithm` log l; tally (L,) is for counting, and 0 between
    counts. Empty levels: l is not required.
    """

    level: I64
    tally: I64
    required: int
    logarithm: float
    entropy: bool


class Promise(NamedTuple):
    """Constraints on groups in addition to their size.

    All constraints have one type, so that kernels are compiled once. A state belongs to
    one search at a time.
    """

    close: Close
    diverse: Diverse


@dataclass(frozen=True)
class CloseToTable:
    """t-closeness of one confidential attribute or more: a requirement on each.

    Attributes
    ----------
    requirements
        Requirement of each attribute, by the ordered distance.
    t
        The largest EMD allowed, exactly.
    """

    requirements: tuple[Closeness, ...] = field(repr=False)
    t: Fraction

    @classmethod
    def of(
        cls, confidential: npt.ArrayLike, n: int, t: float | Fraction, bins: str
    ) -> "CloseToTable":
        """Return the t-closeness constraint on confidential numbers (n,) or (n, c).

        Raises
        ------
        TableError
            The attributes do not have one number per record.
        JobError
            t is not a number strictly between 0 and 1; unknown bins.

        Warns of attributes with one value only.
        """
        exact = read_threshold(t)
        attributes = _require_columns(confidential, n)
        read = [
            (name, _read_ordered(name, column, bins)) for name, column in attributes
        ]
        warn_of_constant(read, stacklevel=find_caller_stacklevel() + 1)
        return cls.to([ordered for _, ordered in read], exact)

    @classmethod
    def to(cls, attributes: Sequence[Ordered], t: Fraction) -> "CloseToTable":
        """Return the t-closeness constraint on attributes that are already in bins."""
        return cls(tuple(Closeness("", ordered, t) for ordered in attributes), t)

    @cached_property
    def attributes(self) -> tuple[Ordered, ...]:
        """Confidential attributes, divided into bins."""
        distances = (requirement.distance for requirement in self.requirements)
        return tuple(
            requirement for requirement in distances if isinstance(requirement, Ordered)
        )

    @cached_property
    def limits(self) -> I64:
        """Largest EMD numerator allowed, by attribute and group size, (c, n + 1)."""
        return np.stack([requirement.limits for requirement in self.requirements])

    def only(self, method: str) -> Ordered:
        """Return the single confidential attribute, for methods that accept one.

        Raises
        ------
        JobError
            The constraint is on several attributes.
        """
        if len(self.attributes) > 1:
            raise JobError(
                f"{method} takes one confidential attribute, not "
                f"{len(self.attributes)}.",
                fix="pass one, or use merge_until_close, which keeps t for several.",
            )
        return self.attributes[0]

    def is_satisfied(self, labels: Labels) -> bool:
        """Whether every group of labels (n,) is t-close, decided exactly."""
        return all(
            requirement.is_satisfied(labels) for requirement in self.requirements
        )


class ConstraintArguments(NamedTuple):
    """A confidential attribute, t and l, and the settings of their counting."""

    confidential: npt.ArrayLike | None = None
    t: Any = None
    l: Any = None  # noqa: E741
    bins: str = "distinct"
    levels: int | str = 20
    boundaries: npt.ArrayLike | None = None
    diversity: str = "distinct"


SETTING_OF = {"bins": "t", "levels": "l", "boundaries": "l", "diversity": "l"}
NOTHING = ConstraintArguments()


def require_consistent(arguments: ConstraintArguments) -> None:
    """Raise unless t and l, their settings and the attribute fit together."""
    require_bins(arguments.bins)
    require_kind(arguments.diversity)
    models = [name for name in ("t", "l") if getattr(arguments, name) is not None]
    for name, model in SETTING_OF.items():
        if model not in models and _differs_from_default(arguments, name):
            raise JobError(
                f"{name} is a setting of {model}, and no {model} is required.",
                fix=f"pass {model} too, or leave {name} out.",
            )
    names = " and ".join(models)
    if models and arguments.confidential is None:
        raise JobError(
            f"{names} has no confidential attribute.",
            fix="pass confidential=, one value per record.",
        )
    if arguments.confidential is not None and not models:
        raise JobError(
            "A confidential attribute is passed, but neither t nor l.",
            fix="pass t or l too, or leave confidential out.",
        )
    if arguments.l is not None:
        require_l(arguments.l)


def _differs_from_default(arguments: ConstraintArguments, name: str) -> bool:
    """Whether a setting is not at its default value."""
    value = getattr(arguments, name)
    default = getattr(NOTHING, name)
    return value is not default and (name == "boundaries" or bool(value != default))


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints that a search preserves.

    t, or l of levels, or both, of one attribute; and a largest share of its group's
    weight for each record.
    """

    closeness: CloseToTable | None = None
    diversity: Diversity | None = None
    dominance: Dominance | None = None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The requirements on groups: t first, then l and dominance."""
        close = () if self.closeness is None else self.closeness.requirements
        others = filter(None, (self.diversity, self.dominance))
        return (*close, *others)

    @cached_property
    def search_state(self) -> Promise | None:
        """State of t and l for the kernels of local search; None if neither is set."""
        if self.closeness is None and self.diversity is None:
            return None
        close = diverse = None
        if self.closeness is not None:
            ordered = self.closeness.only("local_search")
            close = build_closeness(ordered, self.closeness.limits[0])
        if self.diversity is not None:
            diversity = self.diversity
            diverse = build_diversity(
                diversity.codes, diversity.required_l, diversity.kind
            )
        return combine_constraints(close, diverse)

    @property
    def name(self) -> str:
        """The constraints as text, such as "t = 0.1" or "t = 0.1 and l = 3"."""
        return " and ".join(f"{r.model} = {r.required:g}" for r in self.requirements)

    def find_broken(self, labels: Labels) -> Bool:
        """Return whether each group of labels (n,) breaks a constraint."""
        return find_broken_groups(self.requirements, labels)

    def merge_until_feasible(self, records: Floats, labels: Labels) -> Labels:
        """Return labels (n,) of groups merged until they satisfy the constraints.

        While groups break them, the smallest of these joins the nearest group.
        """
        while (broken := self.find_broken(labels)).any():
            sizes = np.bincount(labels)
            one = int(np.where(broken, sizes, len(labels) + 1).argmin())
            sums = np.array([np.bincount(labels, z) for z in records.T])
            means = sums / sizes
            apart = ((means - means[:, one, None]) ** 2).sum(axis=0)
            apart[one] = np.inf
            labels = np.where(labels == one, apart.argmin(), labels)
            labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)
        return labels


def read_constraints(arguments: ConstraintArguments, n: int) -> Constraints | None:
    """Return the constraints on n records, or None if neither t nor l is set.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        The arguments cannot be read, or no groups can satisfy the constraints.
    """
    require_consistent(arguments)
    if arguments.t is None and arguments.l is None:
        return None
    confidential: Any = arguments.confidential
    closeness = diversity = None
    if arguments.t is not None:
        closeness = CloseToTable.of(confidential, n, arguments.t, arguments.bins)
        closeness.only("local_search")
    if arguments.l is not None:
        level = read_levels(confidential, n, arguments.levels, arguments.boundaries)
        require_reachable(np.bincount(level), arguments.l, arguments.diversity)
        diversity = Diversity("", level, int(arguments.l), arguments.diversity)
    return Constraints(closeness, diversity)


def require_dominance(share: object, weights: object) -> None:
    """Raise unless `share` is a valid limit of one record's weight in a group."""
    if share is None:
        return
    if not is_number(share) or not 0 < share <= 1:  # type: ignore[operator]
        raise JobError(
            f"dominance = {share}.",
            fix="pass a share above 0 and at most 1: dominance=0.6.",
        )
    if weights is None:
        raise JobError(
            "dominance refers to weights, and records have none.",
            fix="pass weights=, one for each record, or leave dominance out.",
        )


def with_dominance(
    promise: Constraints | None, weights: Floats, share: float
) -> Constraints:
    """Return constraints that also limit a record's share of its group's weight.

    Raises
    ------
    InfeasibleInputError
        One record exceeds that share of the weight of all records.
    """
    dominance = Dominance(weights, share)
    n = len(weights)
    if not dominance.is_satisfied(np.zeros(n, np.intp)):
        raise InfeasibleInputError(
            f"dominance = {share:g}, and one of {plural(n, 'record')} has more than "
            "that of the weight of all: no groups satisfy it.",
            fix="correct that weight, leave the record out, or allow a larger "
            "dominance.",
        )
    return replace(promise or Constraints(), dominance=dominance)


NEAR = 40  # nearest records whose groups a record may join
TABLED = 128  # records up to which a division is tabulated


def combine_constraints(
    close: Close | None = None, diverse: Diverse | None = None
) -> Promise:
    """Return the state of t and l for the kernels; None leaves one of them out."""
    none = np.zeros(0, np.int64)
    return Promise(
        Close(none, none, none, none, none, 0, none, none) if close is None else close,
        Diverse(none, none, 0, 0.0, False) if diverse is None else diverse,
    )


def build_closeness(ordered: Ordered, limits: I64) -> Close:
    """Return the state of t-closeness: a limit on EMD numerators by group size."""
    sizes = np.arange(TABLED + 1)
    s, r = (
        np.repeat(sizes, sizes + 1),
        np.concatenate([np.arange(s + 1) for s in sizes]),
    )
    split = ordered.first[ordered.n * r // np.maximum(s, 1)]
    return Close(
        ordered.place,
        ordered.sums,
        ordered.first,
        limits,
        split,
        int(ordered.place.sum()),
        far=np.zeros(ordered.n, np.int64),
        lean=np.zeros(ordered.n, np.int64),
    )


def build_diversity(level: I64, l: int, kind: str) -> Diverse:  # noqa: E741
    """Return the state of l-diversity, for the level of each record (n,)."""
    tally = np.zeros(level.max() + 1, np.int64)
    return Diverse(level, tally, l, log(l), kind == "entropy")


WHOSE = "The confidential attribute"
KINDS = ("distinct", "entropy")
CLOSE = 1e-9  # entropies nearer than this are compared in whole numbers


def read_levels(
    confidential: npt.ArrayLike,
    n: int,
    levels: int | str,
    boundaries: npt.ArrayLike | None,
) -> I64:
    """Return the level (class of values) of each record, (n,), numbered from 0.

    Raises
    ------
    TableError
        The attribute does not have one value per record, or has non-numeric values.
    JobError
        levels or boundaries cannot be used.
    """
    attributes = [values for _, values in iter_columns(confidential, WHOSE)]
    if len(attributes) != 1 or len(attributes[0]) != n:
        shape = attributes[0].shape + (
            () if len(attributes) == 1 else (len(attributes),)
        )
        raise TableError(
            f"{WHOSE} has shape {shape}, but there are {n} records.",
            fix=f"pass one value per record, shape ({n},).",
        )
    if boundaries is None and isinstance(levels, str) and levels == "values":
        return np.asarray(encode_values(attributes[0]), np.int64)
    numbers = check_matrix(attributes[0][:, None], name=WHOSE)[:, 0]
    if boundaries is not None:
        cuts = _require_ascending(boundaries)
        return _number_levels(np.searchsorted(cuts, numbers, side="right"))
    if not is_whole_number(levels) or levels < 1:
        shown = levels if is_whole_number(levels) else type(levels).__name__
        raise JobError(
            f"levels = {shown}.",
            fix='pass the number of levels, levels=20, or "values" to make each '
            "value a level.",
        )
    return _number_levels(fill_equally(numbers, int(levels)))


def _number_levels(levels: npt.NDArray[np.generic]) -> I64:
    """Return levels renumbered 0, 1, ... in their order, without gaps."""
    return np.asarray(np.unique(levels, return_inverse=True)[1], np.int64)


def _require_ascending(boundaries: npt.ArrayLike) -> F64:
    """Return boundaries as floats; raise unless they ascend and are finite."""
    try:
        cuts = np.asarray(boundaries)
    except ValueError:  # of unequal length
        cuts = np.empty(0)
    if cuts.ndim != 1 or not cuts.size or cuts.dtype.kind not in "iuf":
        raise JobError(
            "boundaries are not a list of numbers.",
            fix="pass the boundaries between levels, ascending: [10, 20, 50].",
        )
    if not (np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()):
        raise JobError(
            "boundaries are not strictly ascending finite numbers.",
            fix="sort them and name each once; a value on a boundary belongs to the "
            "level above.",
        )
    return cuts.astype(np.float64)


def require_kind(diversity: object) -> None:
    """Raise unless `diversity` is the name of a kind of l-diversity."""
    require_known("diversity", diversity, KINDS)


def count_levels_by_group(labels: Labels, levels: I64) -> I64:
    """Return the number of records of each level in each group, (m, L)."""
    m = int(labels.max()) + 1
    width = int(levels.max()) + 1
    counted = np.bincount(labels * width + levels, minlength=m * width)
    return counted.reshape(m, width).astype(np.int64)


def is_diverse(counts: I64, l: int, kind: str) -> bool:  # noqa: E741
    """Whether a group with these counts of levels (L,) is l-diverse, exactly.

    Entropy: log s - (sum c log c) / s >= log l, equivalent to s^s >= l^s prod c^c.
    """
    present = [int(c) for c in counts if c]
    if kind == "distinct":
        return len(present) >= l
    excess = measure_diversity(counts, kind) - log(l)
    if abs(excess) > CLOSE:
        return excess > 0
    s = sum(present)
    product = 1
    for c in present:
        product *= c**c
    return bool(s**s >= l**s * product)


def measure_diversity(counts: I64, kind: str) -> float:
    """Return the diversity of level counts (L,): number of levels, or entropy."""
    present = counts[counts > 0]
    if kind == "distinct":
        return float(len(present))
    share = present / present.sum()
    return float(-(share * np.log(share)).sum())


def find_largest_l(counts: I64, kind: str) -> int:
    """Return the largest l for which these counts of levels (L,) are l-diverse."""
    diversity = measure_diversity(counts, kind)
    largest_l = round(exp(diversity)) if kind == "entropy" else int(diversity)
    return largest_l if is_diverse(counts, largest_l, kind) else max(largest_l - 1, 1)


def require_l(l: object) -> int:  # noqa: E741
    """Return l as an int; raise a JobError unless it is a whole number above 0."""
    if not is_whole_number(l) or l < 1:
        shown = l if is_whole_number(l) else type(l).__name__
        raise JobError(f"l = {shown}.", fix="pass a whole number of at least 1: l=3.")
    return int(l)


def require_reachable(counts: I64, l: int, kind: str) -> None:  # noqa: E741
    """Raise if l exceeds the diversity of all records, with these level counts."""
    if is_diverse(counts, l, kind):
        return
    largest_l = find_largest_l(counts, kind)
    present = int((counts > 0).sum())
    raise InfeasibleInputError(
        f"l = {l}, but all records together have {kind} diversity {largest_l}, in "
        f"{present} level(s).",
        fix=f"choose l of at most {largest_l}, or make more levels of the confidential "
        "attribute, of more equal size.",
    )


def _require_columns(confidential: Any, n: int) -> list[tuple[str, Any]]:
    """Return (name, values) of each attribute; raise unless each has n values."""
    try:
        shape = np.shape(confidential)
    except ValueError:  # rows of unequal length
        shape = ()
    if len(shape) not in (1, 2) or shape[0] != n or 0 in shape:
        raise TableError(
            f"The confidential attribute has shape {shape}, but there are {n} records.",
            fix=f"pass one number per record, shape ({n},), or ({n}, c) of c "
            "attributes.",
        )
    return list(iter_columns(confidential, "The confidential attribute"))


def _read_ordered(name: str, column: Any, bins: str) -> Ordered:
    """Return an attribute in its bins; errors name the attribute."""
    with naming(name) if name else nullcontext():
        return Ordered.read(column, bins)
