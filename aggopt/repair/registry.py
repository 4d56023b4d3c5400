"""Registry of repairs: each in its own file in `_methods`, or a user's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Method, Registry
from aggopt.core.section import Section, SolverName
from aggopt.core.types import F64, Bool, Labels
from aggopt.encoding.encoded_table import Encoded
from aggopt.errors import PrivacyError
from aggopt.partition.registry import require_labels
from aggopt.partition.shared.evidence import Budget
from aggopt.partition.shared.result import Partition
from aggopt.privacy.model import OWN_MODELS, REQUIREMENTS
from aggopt.privacy.requirement import Requirement, find_broken_groups


class RepairInput(NamedTuple):
    """Input of a repair in addition to the groups.

    Attributes
    ----------
    X : (n, d)
        Quasi-identifiers in their own units, or encoded.
    k, requirements
        Smallest size of groups, and their requirements.
    bound
        Lower bound of the partition on the loss of any groups of k, or None.
    progress
        Progress callback: called with the completed share.
    weights : (n,)
        Sampling weights, above 0, for the squares; None without weights.
    budget
        Budget of the bound in the certificate.
    """

    X: F64 | Encoded
    k: int
    requirements: Sequence[Requirement]
    bound: float | None
    progress: Progress | None
    weights: F64 | None = None
    budget: Budget = Budget()


@dataclass(frozen=True)
class OwnRepair(UserFunction):
    """A user-defined function f(X, labels, k, *, broken, progress, **settings).

    It receives copies of records X (n, d) and of the group of each (n,), and a function
    `broken` that returns for labels (n,) whether each group (m,) breaks a requirement
    of the job; it returns labels (n,).
    """

    data: ClassVar[tuple[str, ...]] = ("X", "labels", "k")
    offered: ClassVar[tuple[str, ...]] = ("progress", "broken")

    def __call__(
        self, repair_input: RepairInput, labels: Labels, section: Any
    ) -> Partition | None:
        """Return its groups, certified; None if they equal the given ones.

        Raises
        ------
        JobError
            The function fails, or does not return one group for each record.
        PrivacyError
            A returned group is too small, or breaks a requirement.
        """
        from aggopt.repair.merge_until_satisfied import certify_groups

        X = repair_input.X
        requirements = repair_input.requirements
        clock = Deadline(None)

        def broken(labels_to_check: Any) -> Bool:
            return find_broken_groups(
                requirements,
                require_labels(self.origin, labels_to_check, len(labels), 1),
            )

        records = np.array(X.coordinates if isinstance(X, Encoded) else X)
        settings = {**section.settings, "broken": broken}
        result = self.run(
            records,
            labels.copy(),
            repair_input.k,
            progress=repair_input.progress,
            **settings,
        )
        new_labels = require_labels(self.origin, result, len(labels), repair_input.k)
        broken_count = int(find_broken_groups(requirements, new_labels).sum())
        if broken_count:
            raise PrivacyError(
                f"{self.origin.name} leaves {broken_count} of "
                f"{new_labels.max() + 1} groups that do not satisfy the requirements.",
                fix='correct it, or set repair = "merge" under [privacy].',
            )
        if np.array_equal(new_labels, labels):
            return None
        proof = certify_groups(
            X,
            new_labels,
            requirements,
            clock.spent,
            repair_input.k,
            repair_input.bound,
            by=self.origin.name,
            weights=repair_input.weights,
            budget=repair_input.budget,
        )
        return Partition(new_labels, proof)


ALL_MODELS = frozenset({*REQUIREMENTS, OWN_MODELS})


class LimitedSettings(Section):
    """Setting of repairs with a time limit.

    Attributes
    ----------
    time_limit
        Seconds; 600 by default if a solver is used.  Merging that the requirements make
        necessary, and the bound, are not cut short.
    """

    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )


class SolvingSettings(LimitedSettings):
    """Settings of repairs that use a solver, throughout or at the end.

    Attributes
    ----------
    solver
        Solver of "merge-ilp"; for "swap" and "sweep" the one that exchanges records at
        the end, or none.
    """

    solver: SolverName = None


@dataclass(frozen=True, kw_only=True)
class Repair(Method):
    """Repair: it makes the groups of a partition satisfy further requirements.

    Attributes
    ----------
    function
        Returns groups made from labels (n,); None if these are unchanged.  Its last
        argument is the section of the job.
    settings
        Its keys of [privacy.repair] other than the method; keys of one name have one
        meaning.
    adds, leaves
        The privacy models that it makes groups satisfy, and others that it leaves
        satisfied; "own" are user-defined models.
    any_distance
        Whether it adds them for several attributes and for any distance.
    asks_solver
        Whether it needs a solver, even if none is named.
    model
        The optimisation model for its solver, if it accepts one.
    certificate
        Description of its certificate, in a line.
    solve
        For methods that keep t of one attribute: the function that
        `aggopt.repair.closeness` calls.
    """

    function: Callable[[RepairInput, Labels, Any], Partition | None]
    settings: type[Section] = Section
    adds: frozenset[str] = ALL_MODELS - {"k"}
    leaves: frozenset[str] = ALL_MODELS
    any_distance: bool = True
    asks_solver: bool = False
    model: str | None = None
    certificate: str
    solve: Callable[..., Any] | None = None


def _adopt_function(thing: object, origin: Origin) -> Repair:
    """Return the method of repair that calls a user-defined function and checks it."""
    return Repair(
        name=origin.name,
        when="a repair of your own",
        origin=origin,
        function=OwnRepair.of(thing, origin, frozenset({"method"})),
        certificate="heuristic; a bound on any groups of k, or as close",
    )


REPAIRS = Registry(
    "aggopt.repair._methods",
    Repair,
    "repair",
    plugin_kind="repairs",
    adopt=_adopt_function,
)
