"""Privacy models by name: each is declared in a separate file in `_models`."""

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
from aggopt.privacy.distance import Distance
from aggopt.privacy.exact_order import Numbers
from aggopt.privacy.requirement import Requirement
from aggopt.privacy.user_model import OwnJudge, OwnRequirement

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
