"""Privacy models by name: each is declared in a file of its own, in `_models`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy.typing as npt

from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Method, Registry
from aggopt.core.section import Section
from aggopt.core.types import I64
from aggopt.errors import JobError
from aggopt.privacy._distance import Distance
from aggopt.privacy._exact import Numbers
from aggopt.privacy._own import OwnJudge, OwnRequirement
from aggopt.privacy._requirement import Requirement

OF_RECORDS = "k"  # the model that is of records alone: the audit counts them
OWN_MODELS = "own"  # the key of [privacy] that names models of the user's


class Attribute(Protocol):
    """One confidential attribute, as a table has it and a job says it is compared.

    Errors of its methods are of values that do not fit.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def treatment(self) -> Any:
        """What the job says of it: the keys that models own, and `missing`."""

    @property
    def counts(self) -> I64 | None:
        """How many records of a table have each value, where each stands once, (n,).

        None where there is one of each record.
        """

    @property
    def codes(self) -> I64:
        """Which of its distinct values each record has, (n,), 0..m-1."""

    def levels(self) -> I64:
        """Return the level of each number (n,), as the job asks for them."""

    def distance(self) -> Distance:
        """Return how its values are compared."""

    def numbers(self) -> Numbers:
        """Return its values as numbers, exactly."""

    def entries(self) -> npt.NDArray[Any]:
        """Return its values (n,): numbers, or what they are; None if missing."""


def _nothing(asked: Any) -> None:
    pass


def _of_any_values(asked: Any, treatments: Sequence[Any]) -> bool:
    return True


def _no_attributes(asked: Any) -> Iterable[str]:
    return ()


def _unsaid(asked: Any, treatments: Sequence[Any]) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class PrivacyModel(Method):
    """What a release can promise of its groups.

    Attributes
    ----------
    name
        The key of [privacy] that asks for it.
    settings
        The keys of [privacy] that it owns: that of its name, None where it is not
        asked for, and those that say how it is counted.  A key's description is what
        a refusal says to write.
    treatment
        The keys that it reads under [privacy.confidential.NAME].
    requirement
        What makes a requirement on one attribute from its values and from [privacy];
        None of k, which is of records alone.
    check
        What refuses, with a ValueError, keys that do not go together.
    attributes
        The attributes that its keys name, given [privacy].
    sense
        What a message says beside the name, as "by the ordered distance", given
        [privacy] and the treatments of all attributes.
    simple
        Whether methods that look at the confidential values themselves keep it so
        asked for, given the same; others only merge and check.
    template
        Its lines in a new job, each a comment.
    """

    settings: type[Section]
    treatment: type[Section] = Section
    requirement: Callable[[Attribute, Any], Requirement] | None = None
    check: Callable[[Any], None] = _nothing
    attributes: Callable[[Any], Iterable[str]] = _no_attributes
    sense: Callable[[Any, Sequence[Any]], str] = _unsaid
    simple: Callable[[Any, Sequence[Any]], bool] = _of_any_values
    template: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """The keys of [privacy] that it owns."""
        return frozenset({self.name, *self.settings.model_fields})

    def concerns(self, attribute: str) -> bool:
        """Whether it asks something of a confidential attribute."""
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
    """A privacy model of the user's.

    Attributes
    ----------
    function
        Judges a group.
    only
        The attributes that it is of; None of all.
    """

    function: OwnJudge
    only: tuple[str, ...] | None = None

    def asking(
        self, settings: Mapping[str, Any], only: tuple[str, ...] | None
    ) -> "OwnPrivacyModel":
        """Return it with settings of its function, of some attributes or of all."""
        return replace(
            self,
            requirement=partial(_judged, self.function, settings),
            attributes=partial(_these, only or ()),
            only=only,
        )

    def concerns(self, attribute: str) -> bool:
        """Whether it asks something of a confidential attribute."""
        return self.only is None or attribute in self.only


def _judged(
    judge: OwnJudge, settings: Mapping[str, Any], of: Attribute, asked: Any
) -> Requirement:
    return OwnRequirement(of.name, of.entries(), judge, settings, of.counts)


def _these(names: tuple[str, ...], asked: Any) -> Iterable[str]:
    return names


def _adopted(thing: object, origin: Origin) -> OwnPrivacyModel:
    """Return the privacy model that a function of the user's is."""
    judge = OwnJudge.of(thing, origin, frozenset({"method", "attributes"}))
    return OwnPrivacyModel(
        name=origin.name,
        when="a privacy model of your own",
        origin=origin,
        settings=Section,
        requirement=partial(_judged, judge, {}),
        function=judge,
    )


def require_apart(models: Iterable[PrivacyModel], taken: Iterable[str]) -> None:
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
    "aggopt.privacy._models",
    PrivacyModel,
    "privacy model",
    TAKEN,
    own="privacy_models",
    adopt=_adopted,
)
