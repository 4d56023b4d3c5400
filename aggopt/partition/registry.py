"""Registry of partition methods: each in its own file of this folder, or a user's."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, PlainSerializer

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin
from aggopt.core.plugins.section import PluginSection
from aggopt.core.registry import Method, Registry, require_arguments
from aggopt.core.section import MethodSection
from aggopt.core.types import F64, Labels
from aggopt.core.validation import check_group_size, check_groups
from aggopt.encoding.encoded_table import Encoded
from aggopt.errors import AggoptError, JobError, PrivacyError, require_known
from aggopt.partition.shared.evidence import QUICK, Evidence, certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import read_records, scale_records
from aggopt.partition.shared.settings import TABLE_SETTINGS, Grouping, require_choice
from aggopt.solvers import Claim


@dataclass(frozen=True)
class OwnPartitioner(UserFunction):
    """A user-defined function f(X, k, *, progress, **settings).

    It receives a copy of records X (n, d), or of the coordinates that attributes of
    other types have, and returns labels (n,) or a `Partition`.
    """

    data: ClassVar[tuple[str, ...]] = ("X", "k")

    def __call__(
        self,
        /,
        X: npt.ArrayLike,
        k: int,
        *,
        scale: str = "z",
        progress: Progress | None = None,
        **settings: Any,
    ) -> Partition:
        """Return its groups with a certificate of aggopt, whatever the function claims.

        With scale="none" the objective is of X unchanged, as in searches that begin
        from its groups.

        Raises
        ------
        JobError
            The function fails, or does not return one group for each record.
        PrivacyError
            The function made a group that is too small.
        """
        clock = Deadline(None)
        records = read_records(X)
        k = check_group_size(k, len(records))
        result = self.run(_copy_coordinates(records), k, progress=progress, **settings)
        labels = require_labels(self.origin, result, len(records), k)
        Z = scale_records(records, scale)
        spent = clock.spent
        evidence = certify_squares(Z, labels, k, by=self.origin.name, seconds=spent)
        return Partition(labels, self._add_claim(evidence, result))

    def _add_claim(self, evidence: Evidence, result: Any) -> Evidence:
        """Return the evidence with the bound that a user's function claims, if any."""
        if not isinstance(result, Partition) or not result.evidence[0].settled:
            return evidence
        bound = result.certificate.bound
        if bound is None:
            return evidence
        return evidence.claiming(Claim(bound, str(self.origin)))


def _copy_coordinates(records: F64 | Encoded) -> F64:
    """Return a copy of the records, or of an encoded table's coordinates."""
    coordinates = records.coordinates if isinstance(records, Encoded) else records
    return coordinates.copy()


def require_labels(origin: Origin, result: Any, n: int, k: int) -> Labels:
    """Return labels (n,) of a user-defined function; raise if they are invalid.

    Raises
    ------
    JobError
        The function did not return one group for each record.
    PrivacyError
        A group has fewer than k records.
    """
    raw_labels = result.labels if isinstance(result, Partition) else result
    array = origin.run(np.array, raw_labels)
    try:
        labels = check_groups(array, n)
    except AggoptError as error:
        raise JobError(
            f"{origin.name} returns no partition: {error.problem}",
            fix="return one group number for each record, shape (n,): 0, 1, ...",
        ) from None
    smallest = int(np.bincount(labels).min())
    if smallest < k:
        raise PrivacyError(
            f"{origin.name} made a group of {smallest}, but k = {k} is required.",
            fix="correct it, or name a method of this package.",
        )
    return labels


PartitionFunction = Callable[..., Partition | npt.ArrayLike]


class AttributeUse(StrEnum):
    """Number of attributes that a method groups together."""

    SEVERAL = "several together"
    ONE = "one"
    EACH = "each by itself"


class Bound(StrEnum):
    """Source of the bound of a certificate."""

    PAIRS = "proof by pairs of records"
    OWN = "the method's own proof"
    BOXES = "proof by boxes of values"


class Objective(StrEnum):
    """Loss that a method minimises, and that its certificate states."""

    SQUARES = "sum of squares within groups"
    GENERALISED = "loss of the true values that groups publish"


class ConfidentialUse(StrEnum):
    """Number of confidential attributes that a method uses."""

    NONE = "none"
    ONE = "one"
    SEVERAL = "several"


@dataclass(frozen=True, kw_only=True)
class Partitioner(Method):
    """Partition method: from records to groups.

    Attributes
    ----------
    function
        Receives records X (n, d), k, the confidential attributes if it uses them, and
        the settings; returns a `Partition`.
    settings
        The section of a job that selects it.
    guarantees
        Requirements of k, l and t that its groups satisfy, whatever the table.
    takes_also
        Requirements in addition to k that it takes if the job has them: "l" or "t" of
        one confidential attribute, "units".
    bound
        Source of the bound of its certificate.
    objective
        Loss that it minimises.
    certify_repaired
        Function that certifies the groups of a repair by this loss; None for squares.
    confides
        Number of confidential attributes that it uses.
    takes
        Attributes that it groups: (n, d) together, one (n,), or each independently.
    initial
        Whether searches may start from its groups; then it accepts scale="none".
    inner
        Whether it may partition a block of `blocked`; then it accepts scale="none".
    searches
        Whether the repair "search", which keeps all requirements, improves its groups
        in jobs that name no repair.
    model
        Name of the optimisation model that it solves, if the user may choose the
        solver.
    weighs
        Whether it accepts sampling `weights`.
    dominates
        Whether it also accepts `dominance`: the largest share of its group's weight
        that a record may have.
    """

    function: Callable[..., Partition]
    settings: type[MethodSection]
    guarantees: frozenset[str] = frozenset("k")
    takes_also: frozenset[str] = frozenset()
    bound: Bound = Bound.PAIRS
    objective: Objective = Objective.SQUARES
    certify_repaired: Callable[..., Partition] | None = None
    confides: ConfidentialUse = ConfidentialUse.NONE
    takes: AttributeUse = AttributeUse.SEVERAL
    initial: bool = False
    inner: bool = False
    searches: bool = False
    model: str | None = None
    weighs: bool = False
    dominates: bool = False

    def __post_init__(self) -> None:
        settings = set(self.settings.model_fields) - {"method", *TABLE_SETTINGS}
        require_arguments(self.name, settings, self.function)

    @property
    def in_blocks(self) -> bool:
        """Whether the method accepts blocks of attributes, with X and k only."""
        return (
            self.confides is ConfidentialUse.NONE
            and self.takes is not AttributeUse.EACH
        )


FILL = "fill"  # the policy on missing values that imputes them
RESERVED_NAMES = {  # by jobs, and by other names of `aggopt.partition`
    *("recommended", "recommend", "Recommendation", "PARTITIONERS", "Partitioner"),
    *("Partition", "correlated_blocks", "in_blocks", "loss_bound"),
}


def _adopt_function(thing: object, origin: Origin) -> Partitioner:
    """Return the method that wraps a user-defined function and checks its groups."""
    taken = frozenset({*Grouping.model_fields, "X", "k", "scale"})
    return Partitioner(
        name=origin.name,
        when="a method of your own",
        origin=origin,
        function=OwnPartitioner.of(thing, origin, taken),
        settings=Grouping,
        initial=True,
        inner=True,
    )


PARTITIONERS = Registry(
    "aggopt.partition",
    Partitioner,
    "partition method",
    RESERVED_NAMES,
    plugin_kind="partitioners",
    adopt=_adopt_function,
)


def require_bound_used(section: Grouping, missing: str) -> None:
    """Refuse a budget for the bound that the method or missing values leave unused.

    `missing` is the policy on missing values.
    """
    if section.bound == QUICK:
        return
    method = PARTITIONERS.get(section.method)
    reason = None
    if method is not None and method.bound is not Bound.PAIRS:
        reason = f"the bound of {method.name} is {method.bound}"
    elif missing == FILL:
        reason = "groups by filled-in values have no bound"
    if reason is not None:
        raise JobError(
            f"[partition] bound = {section.bound!r}, and {reason}.",
            fix="leave bound out.",
        )


def list_initial_methods() -> tuple[str, ...]:
    """Return the names of methods that may make the initial groups of a search."""
    return tuple(name for name, method in PARTITIONERS.items() if method.initial)


def list_inner_methods() -> tuple[str, ...]:
    """Return the names of methods that may partition blocks of records."""
    return tuple(name for name, method in PARTITIONERS.items() if method.inner)


def list_block_methods() -> tuple[str, ...]:
    """Return the names of methods that may partition blocks of attributes."""
    return tuple(name for name, method in PARTITIONERS.items() if method.in_blocks)


def resolve_function(
    method: object, noun: str, accepted: Collection[str]
) -> PartitionFunction:
    """Return the partition function of a method, by name or as the user's object.

    Raises
    ------
    UnknownNameError, JobError
        The name is unknown, or the object is neither a name nor a method.
    """
    if isinstance(method, OwnPartitioner):
        return method
    if callable(method):
        method = PARTITIONERS.find_declared(method) or PARTITIONERS.adopt(method)
        if method.origin is not None:
            return method.function
        method = method.name
    require_known(noun, method, accepted)
    return PARTITIONERS[str(method)].function


def _require_method(list_accepted: Callable[[], tuple[str, ...]], value: Any) -> Any:
    """Return a method's name or user-defined function; raise if it is not accepted."""
    if not callable(value):
        is_user_code = isinstance(value, str) and PARTITIONERS.names_user_code(value)
        return value if is_user_code else require_choice(value, list_accepted())
    method = PARTITIONERS.adopt(value)
    if method.origin is None:
        return require_choice(method.name, list_accepted())
    return method.function


def _serialise_method(method: Any) -> Any:
    """Return a user-defined method's name, or the name itself, for JSON."""
    return method.origin.name if isinstance(method, OwnPartitioner) else method


InitialMethod = Annotated[
    Any,
    AfterValidator(partial(_require_method, list_initial_methods)),
    PlainSerializer(_serialise_method),
]
InnerMethod = Annotated[
    Any,
    AfterValidator(partial(_require_method, list_inner_methods)),
    PlainSerializer(_serialise_method),
]


class FromGroups(Grouping, PluginSection):
    """Settings of a method that calls another one: `initial` or `inner`."""

    def load_contents(self) -> Self:
        """Return the settings with the method that they name loaded.

        Raises as `Registry.adopted`.
        """
        update = {
            key: PARTITIONERS.adopt(method).function
            for key, method in self._other_methods
            if isinstance(method, str) and PARTITIONERS.names_user_code(method)
        }
        return self.model_copy(update=update) if update else self

    @property
    def own_methods(self) -> tuple[Partitioner, ...]:
        """The other method as a tuple, empty unless it is user-defined."""
        return tuple(
            _adopt_function(method.function, method.origin)
            for _, method in self._other_methods
            if not isinstance(method, str)
        )

    @property
    def _other_methods(self) -> list[tuple[str, Any]]:
        """The other method as [(key, method)], with the key "initial" or "inner"."""
        return [(key, value) for key, value in self if key in ("initial", "inner")]
