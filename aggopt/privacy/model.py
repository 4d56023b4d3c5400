"""Privacy models by name: each in its own file in `models`, or a user's."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin
from aggopt.core.plural import agree, plural
from aggopt.core.registry import Method, Registry
from aggopt.core.section import Section
from aggopt.core.types import F64, I64, Bool
from aggopt.errors import JobError
from aggopt.privacy.distance import Distance
from aggopt.privacy.exact_order import Numbers
from aggopt.privacy.requirement import Check, Requirement


@dataclass(frozen=True)
class OwnJudge(UserFunction):
    """A user function f(values, *, whole, **settings).

    It receives a copy of the confidential values of one group.  If it takes `whole`, it
    also receives the values of all records, read-only.  It returns whether the group
    satisfies the requirement.
    """

    data: ClassVar[tuple[str, ...]] = ("values",)
    offered: ClassVar[tuple[str, ...]] = ("whole",)

    def __call__(
        self,
        values: npt.NDArray[Any],
        all_values: npt.NDArray[Any],
        settings: Mapping[str, Any],
    ) -> bool:
        """Return its verdict on the values of a group, with these settings.

        Raises
        ------
        JobError
            The function fails, or returns neither True nor False.
        """
        verdict = self.run(values, whole=all_values, **settings)
        if not isinstance(verdict, bool | np.bool_):
            raise JobError(
                f"The privacy model {self.origin.name} returns something of type "
                f"{type(verdict).__name__}.",
                fix="return True if the values of the group satisfy it, else False.",
            )
        return bool(verdict)


@dataclass(frozen=True)
class OwnCheck(Check):
    """Result of a user requirement on groups: 1 if all satisfy it.

    Attributes
    ----------
    counted_by
        The code that judged the groups.
    """

    counted_by: str = ""

    def __str__(self) -> str:
        """Return a sentence with counts and the code that counted."""
        says = "holds" if self.holds else "DOES NOT HOLD"
        sentence = f"{self.promise} {says} for {self.attribute!r}, by {self.counted_by}"
        if self.holds:
            return f"{sentence}."
        return (
            f"{sentence}: {self.broken} of {plural(self.groups, 'group')} "
            f"{agree(self.broken, 'fails', 'fail')}, the smallest of "
            f"{plural(self.worst, 'record')}."
        )


@dataclass(frozen=True, eq=False)
class OwnRequirement(Requirement):
    """Each group satisfies a user function of its values.

    A union of groups that satisfy it need not satisfy it.

    Attributes
    ----------
    values : (n,)
        Values of all records.
    judge, settings
        The function and its settings.
    counts : (n,)
        Number of records with each value, if `values` has each value once; None if it
        has one value for each record.
    """

    model: ClassVar[str] = "own"
    additive: ClassVar[bool] = False

    attribute: str
    values: npt.NDArray[Any] = field(repr=False)
    judge: OwnJudge
    settings: Mapping[str, Any] = field(repr=False)
    counts: I64 | None = field(default=None, repr=False)

    @cached_property
    def whole(self) -> npt.NDArray[Any]:
        """The values of all records of the table, which cannot be changed."""
        values = self.values
        all_values = (
            values.view() if self.counts is None else np.repeat(values, self.counts)
        )
        all_values.setflags(write=False)
        return all_values

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.values)

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.judge.origin.name

    @property
    def required(self) -> float:
        """1: the function is satisfied."""
        return 1.0

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return 1 for each group that satisfies it, else 0, (groups,)."""
        return np.where(self.find_broken(records, starts), 0.0, 1.0)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group violates it, (groups,); the function decides."""
        satisfied = [
            self.judge(self.values[records[start:end]], self.whole, self.settings)
            for start, end in pairwise(starts.tolist())
        ]
        return ~np.array(satisfied, np.bool_)

    def measure_shortfall(self, records: I64, starts: I64) -> F64:
        """Return 1 for each group that violates it: the function has no finer scale."""
        return self.find_broken(records, starts).astype(np.float64)

    def describe_kept(self, value: float) -> str:
        """Return "": alternatives for a user function are unknown."""
        return ""

    def complete_check(self, check: Check) -> OwnCheck:
        """Return the check with the origin of the function."""
        return OwnCheck(**vars(check), counted_by=str(self.judge.origin))


OF_RECORDS = "k"  # the model of records only: the audit counts them
OWN_MODELS = "own"  # the key of [privacy] that names user models


class Attribute(Protocol):
    """One confidential attribute of a table, compared as a job specifies.

    Its methods raise errors for values that do not fit.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def treatment(self) -> Any:
        """Its keys in the job: the keys that models own, and `missing`."""

    @property
    def counts(self) -> I64 | None:
        """Number of records of a table with each value, if each is present once, (n,).

        None if the attribute has one value for each record.
        """

    @property
    def codes(self) -> I64:
        """Code of the distinct value of each record, (n,), 0..m-1."""

    def levels(self) -> I64:
        """Return the level of each number (n,), as the job specifies."""

    def distance(self) -> Distance:
        """Return the distance between its values."""

    def numbers(self) -> Numbers:
        """Return its values as numbers, exactly."""

    def entries(self) -> npt.NDArray[Any]:
        """Return its values (n,): numbers, or unchanged objects; None if missing."""


def _check_nothing(settings: Any) -> None:
    pass


def _is_always_simple(settings: Any, treatments: Sequence[Any]) -> bool:
    return True


def _list_no_attributes(settings: Any) -> Iterable[str]:
    return ()


def _describe_nothing(settings: Any, treatments: Sequence[Any]) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class PrivacyModel(Method):
    """A requirement that the groups of a release can satisfy.

    Attributes
    ----------
    name
        The key of [privacy] that requests it.
    settings
        The keys of [privacy] that it owns: the key of its name, None if the model is
        not requested, and the keys that specify its count.  A refusal contains a key's
        description as its fix.
    treatment
        The keys that it reads under [privacy.confidential.NAME].
    requirement
        Function that returns a requirement on one attribute from its values and
        [privacy]; None for k, which concerns records only.
    check
        Function that refuses incompatible keys with a ValueError.
    attributes
        The attributes that its keys name, given [privacy].
    sense
        Function that returns an addition to the name in messages, for example "by the
        ordered distance", from [privacy] and the treatments of all attributes.
    simple
        Whether methods that use confidential values can satisfy it with these keys,
        from the arguments of `sense`; otherwise methods only merge and check.
    template
        Its lines in a new job, each a comment.
    """

    settings: type[Section]
    treatment: type[Section] = Section
    requirement: Callable[[Attribute, Any], Requirement] | None = None
    check: Callable[[Any], None] = _check_nothing
    attributes: Callable[[Any], Iterable[str]] = _list_no_attributes
    sense: Callable[[Any, Sequence[Any]], str] = _describe_nothing
    simple: Callable[[Any, Sequence[Any]], bool] = _is_always_simple
    template: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """The keys of [privacy] that it owns."""
        return frozenset({self.name, *self.settings.model_fields})

    def concerns(self, attribute: str) -> bool:
        """Whether it applies to a confidential attribute."""
        return True

    def __post_init__(self) -> None:
        if self.requirement is None and self.name != OF_RECORDS:
            raise JobError(
                f"The privacy model {self.name!r} makes no requirement, so that no "
                "release would be audited for it.",
                fix="declare its `requirement`: what makes one of an attribute.",
            )


@dataclass(frozen=True, kw_only=True)
class OwnPrivacyModel(PrivacyModel):
    """A user privacy model.

    Attributes
    ----------
    function
        Judges a group.
    only
        The attributes that it applies to; None for all.
    """

    function: OwnJudge
    only: tuple[str, ...] | None = None

    def asking(
        self, settings: Mapping[str, Any], only: tuple[str, ...] | None
    ) -> "OwnPrivacyModel":
        """Return the model with settings, for the attributes `only` or for all."""
        return replace(
            self,
            requirement=partial(_build_user_requirement, self.function, settings),
            attributes=partial(_select_names, only or ()),
            only=only,
        )

    def concerns(self, attribute: str) -> bool:
        """Whether it applies to a confidential attribute."""
        return self.only is None or attribute in self.only


def _build_user_requirement(
    judge: OwnJudge, settings: Mapping[str, Any], attribute: Attribute, privacy: Any
) -> Requirement:
    return OwnRequirement(
        attribute.name, attribute.entries(), judge, settings, attribute.counts
    )


def _select_names(names: tuple[str, ...], settings: Any) -> Iterable[str]:
    return names


def _adopt_function(thing: object, origin: Origin) -> OwnPrivacyModel:
    """Return a privacy model made of a user function."""
    judge = OwnJudge.of(thing, origin, frozenset({"method", "attributes"}))
    return OwnPrivacyModel(
        name=origin.name,
        when="a privacy model of your own",
        origin=origin,
        settings=Section,
        requirement=partial(_build_user_requirement, judge, {}),
        function=judge,
    )


def require_distinct_keys(models: Iterable[PrivacyModel], taken: Iterable[str]) -> None:
    """Refuse treatment keys that two models, or a model and all of them, own.

    A section that two of them share is one.

    Raises
    ------
    JobError
        The later one's key would take the place of the other's.
    """
    owner: dict[str, PrivacyModel] = {}
    for model in models:
        for key in sorted(model.treatment.model_fields):
            first = owner.setdefault(key, model)
            if key in taken or first.treatment is not model.treatment:
                whose = "" if key in taken else f", as {first.name!r} does"
                raise JobError(
                    f"The privacy model {model.name!r} reads {key!r} of an attribute"
                    f"{whose}, which means something else already.",
                    fix="give the key another name, or let both have one section.",
                )


LIMITS = ("risk", "average_risk", "linkage")  # of a whole release
TAKEN = ("confidential", "dominance", "repair", *LIMITS, OWN_MODELS)  # in [privacy]
REQUIREMENTS = Registry(
    "aggopt.privacy.models",
    PrivacyModel,
    "privacy model",
    TAKEN,
    plugin_kind="privacy_models",
    adopt=_adopt_function,
)
