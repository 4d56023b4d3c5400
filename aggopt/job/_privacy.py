"""The section with the privacy requirements of a release.

Each privacy model owns some keys, of the section or of an attribute; see
`aggopt.privacy.model`.
"""

from collections.abc import Collection, Iterable, Mapping
from math import ceil
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic import ValidationError as Invalid

from aggopt.core.plugins.section import PluginSection, UserMethodSection
from aggopt.core.registry import Method, Registry
from aggopt.core.section import Section, list_written_keys
from aggopt.errors import JobError
from aggopt.privacy.model import (
    OF_RECORDS,
    OWN_MODELS,
    REQUIREMENTS,
    OwnPrivacyModel,
    PrivacyModel,
    require_distinct_keys,
)
from aggopt.repair.registry import REPAIRS

MIN_RISK = 1e-9  # k of a smaller limit exceeds the records of any table


class _Repair(Section):
    """The key common to all repairs."""

    method: Literal[tuple(REPAIRS)]  # type: ignore[valid-type]


class _Treatment(Section):
    """The keys of an attribute common to all models."""

    missing: Literal["refuse", "own value"] = "refuse"
    alike: Literal["refuse", "different"] = "refuse"


def _with_keys(name: str, owned: Iterable[type[Section]], base: type[Section]) -> Any:
    """Return a section with the keys of `base`, followed by the keys of methods."""
    kinds = [kind for kind in dict.fromkeys(owned) if kind is not Section]
    return create_model(name, __base__=(*reversed(kinds), base))


require_distinct_keys(REQUIREMENTS.values(), _Treatment.model_fields)
_TreatmentKeys = _with_keys(
    "Treatments", (model.treatment for model in REQUIREMENTS.values()), _Treatment
)
_PrivacyKeys = _with_keys(
    "Models", (model.settings for model in REQUIREMENTS.values()), Section
)
_RepairKeys = _with_keys(
    "Repairs", (repair.settings for repair in REPAIRS.values()), _Repair
)


class Treatment(_TreatmentKeys):  # type: ignore[misc,valid-type]
    """How the values of one confidential attribute are compared.

    Attributes
    ----------
    missing
        "refuse", or "own value": missing entries count as one additional value.
    alike
        "refuse", or "different": entries that differ only in case, in invisible
        characters or in how Unicode writes them count as different values.

    The other keys are those of privacy models: `levels` of l; `distance`, `order` and
    `tree` of t, the value of [privacy] when left out.
    """


class Repairing(_RepairKeys):  # type: ignore[misc,valid-type]
    """A repair, which makes a partition satisfy the requirements; see `aggopt.repair`.

    Attributes
    ----------
    method
        "merge" and "search" keep any requirement; "merge-ilp", "swap" and "sweep" keep
        t, of one attribute with the ordered distance.

    The other keys are those of repairs: `time_limit` of all but "merge", and `solver`
    of repairs for t.
    """

    @model_validator(mode="after")
    def _check(self) -> "Repairing":
        for key in sorted(list_written_keys(self) - {"method"}):
            takes = [n for n, r in REPAIRS.items() if key in r.settings.model_fields]
            if self.method not in takes:
                raise ValueError(
                    f"{self.method} takes no {key}; {', '.join(takes)} do: leave it out"
                )
        return self


class OwnRepairing(UserMethodSection):
    """A user's repair; the other keys are its settings."""

    methods: ClassVar[Registry[Any]] = REPAIRS
    solver: ClassVar[None] = None


def _read(repair: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Return the section of a repair, which may be given by its name alone."""
    if isinstance(repair, str) or callable(repair):
        repair = {"method": repair}
    method = repair.get("method") if isinstance(repair, Mapping) else None
    if isinstance(repair, OwnRepairing) or not REPAIRS.names_user_code(method):
        return repair if isinstance(repair, OwnRepairing) else read(repair)
    try:
        return OwnRepairing.model_validate(repair)
    except Invalid as invalid:
        (wrong,) = invalid.errors(include_url=False)
        raise wrong["ctx"]["error"] from None


class OwnRequiring(UserMethodSection):
    """A user's privacy model; the other keys are its settings.

    Attributes
    ----------
    attributes
        Its confidential attributes; all of them when left out.
    """

    methods: ClassVar[Registry[Any]] = REQUIREMENTS
    attributes: tuple[str, ...] | None = Field(default=None, min_length=1)

    @property
    def model(self) -> OwnPrivacyModel:
        """The privacy model with its settings; raises as `load_contents`."""
        loaded = self.load_contents()
        model_of_user: OwnPrivacyModel = loaded._own  # type: ignore[assignment]
        return model_of_user.asking(loaded.arguments, loaded.attributes)


def list_sections(entries: Any) -> list[Any]:
    """Return the sections that `own` lists; one name or section becomes a list.

    Raises
    ------
    JobError
        One of them does not name a user's privacy model.
    """
    return [
        _make_section(entry)
        for entry in (entries if isinstance(entries, list | tuple) else [entries])
    ]


def _make_section(entry: Any) -> Any:
    """Return the section of a user privacy model from its name or its keys."""
    if isinstance(entry, OwnRequiring):
        return entry
    section = entry if isinstance(entry, Mapping) else {"method": entry}
    method = section.get("method")
    if REQUIREMENTS.names_user_code(method):
        return section
    subject = f"{method!r}, which is" if isinstance(method, str) else "what is"
    raise JobError(
        f"[privacy] own names {subject} no privacy model of yours.",
        fix='name a file and a function in it, own = "mine.py:spread", or one with its '
        'settings, own = { method = "mine.py:spread", least = 3 }; those of this '
        f"package have keys of their own: {', '.join(REQUIREMENTS)}.",
    )


class Privacy(_PrivacyKeys, PluginSection):  # type: ignore[misc,valid-type]
    """The privacy requirements of the release, which are audited on the written values.

    The keys of a privacy model are documented with it: `k` and `scope`; `l`,
    `diversity` and `c`; `t` and `distance`; ...

    Attributes
    ----------
    own
        The user's privacy models.
    repair
        The repair of the groups, if the partition does not keep the requirements.
    confidential
        How the values of an attribute are compared, by its name.
    dominance
        A note counts the groups in which one record makes up more than this share of
        the sum of absolute values of an attribute; 1 disables the note.  The
        requirement on sampling weights is [weights] dominance.
    risk, average_risk
        The largest and the average risk of a record, or a unit, that a release may
        have: 1 / records that share its published combination.  With the scope
        "combination", k is at least 1 / risk, and groups are merged until their average
        risk is within its limit.
    linkage
        The largest share of records that a release may let `aggopt.measure.linkage`
        link to their own.  Groups are merged until it is within this limit.
    """

    own: Annotated[tuple[OwnRequiring, ...], BeforeValidator(list_sections)] = ()
    repair: Annotated[SerializeAsAny[Repairing] | None, WrapValidator(_read)] = None
    confidential: dict[str, Treatment] = Field(default_factory=dict)
    dominance: float = Field(default=0.7, gt=0, le=1, strict=True)
    risk: float | None = Field(default=None, gt=0, le=1, strict=True)
    average_risk: float | None = Field(default=None, gt=0, le=1, strict=True)
    linkage: float | None = Field(default=None, gt=0, le=1, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _raise_k(cls, section: Any) -> Any:
        """Return the section with the least k whose groups keep the limit `risk`."""
        if not isinstance(section, Mapping) or not _limits_risk(section):
            return section
        k = section.get("k", 2)
        sufficient = find_sufficient_k(section["risk"])
        is_raised = type(k) is int and 2 <= k < sufficient
        return (
            {**section, "k": sufficient} if is_raised or "k" not in section else section
        )

    def load_contents(self) -> Self:
        """Return it with user code loaded: privacy models and a repair."""
        sections: dict[str, Any] = {
            "own": tuple(section.load_contents() for section in self.own)
        }
        if isinstance(self.repair, OwnRepairing):
            sections["repair"] = self.repair.load_contents()
        return self.model_copy(update=sections)

    def keys_with(self, **keys: Any) -> dict[str, Any]:
        """Return the section's keys, some replaced; None removes a requirement.

        Keys without an effect, as a distance without t, are left out.
        """
        values = {name: getattr(self, name) for name in list_written_keys(self)} | keys
        required = {
            n for n in (*REQUIREMENTS, OWN_MODELS) if values.get(n) not in (None, ())
        }
        idle = {n for n, needs in _needs().items() if not required & set(needs)}
        acting = {name: value for name, value in values.items() if name not in idle}
        if "confidential" in acting:
            acting["confidential"] = {
                name: _reduce_treatment(required, treatment)
                for name, treatment in acting["confidential"].items()
            }
        return {name: value for name, value in acting.items() if value is not None}

    @property
    def own_methods(self) -> tuple[Method, ...]:
        """The privacy models and the repair of the user's, once they are loaded."""
        mended = (self.repair,) if isinstance(self.repair, OwnRepairing) else ()
        return tuple(m for section in (*self.own, *mended) for m in section.own_methods)

    @property
    def asked(self) -> frozenset[str]:
        """The names of the required privacy models; "own" for a user's."""
        names = (n for n in REQUIREMENTS if getattr(self, n) is not None)
        return frozenset({*names, *([OWN_MODELS] if self.own else [])})

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """The privacy models that the job requires of confidential attributes.

        Raises
        ------
        UntrustedCodeError, JobError
            One of the user's is not loaded, and cannot be.
        """
        required = (REQUIREMENTS[n] for n in REQUIREMENTS if n in self.asked)
        ours = (model for model in required if model.requirement is not None)
        return (*ours, *(section.model for section in self.own))

    def treatment(self, name: str) -> Treatment:
        """Return the treatment of an attribute, with defaults from the section."""
        treatment: Treatment = self.confidential.get(name, Treatment())
        common = set(Treatment.model_fields) & set(type(self).model_fields)
        update = {key: getattr(treatment, key) or getattr(self, key) for key in common}
        copied: Treatment = treatment.model_copy(update=update)
        return copied

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the keys that act; a job refuses the others."""
        idle = {n for n, needs in _needs().items() if not self.asked & set(needs)}
        idle |= set() if self.own else {OWN_MODELS}
        return {name: value for name, value in dump(self).items() if name not in idle}

    @model_validator(mode="after")
    def _check(self) -> "Privacy":
        written = list_written_keys(self)
        for name, needs in _needs().items():
            if name in written and not self.asked & set(needs):
                needed = " or ".join(needs)
                raise JobError(
                    f"[privacy]: {name} is given, but no {needed}.",
                    fix=f"leave {name} out, or promise {needed}, too.",
                )
        for model in REQUIREMENTS.values():
            model.check(self)
        if self.scope != "combination" and self.asked - {OF_RECORDS}:
            key = "keys" if self.keys else 'scope = "blocks"'
            raise ValueError(
                "l, t and what else is promised of confidential values are promised "
                f"of the combination: leave out {key}"
            )
        for name, treatment in self.confidential.items():
            self._require_used(name, treatment)
        return self

    def _require_used(self, name: str, treatment: Treatment) -> None:
        for model in REQUIREMENTS.values():
            for key in sorted(
                list_written_keys(treatment) & set(model.treatment.model_fields)
            ):
                if model.name not in self.asked:
                    raise JobError(
                        f"[privacy]: {key} is given for {name!r}, but no {model.name}.",
                        fix=f"leave {key} out, or promise {model.name}, too.",
                    )


def find_sufficient_k(risk: float) -> int:
    """Return the least k whose groups of k records have at most this risk.

    >>> find_sufficient_k(0.09), find_sufficient_k(0.1), find_sufficient_k(1 / 3)
    (12, 10, 3)
    """
    k = max(2, ceil(1 / risk) - 1)
    while 1 / k > risk:
        k += 1
    return k


def _limits_risk(section: Mapping[str, Any]) -> bool:
    """Whether the largest risk of a record is limited, and k can keep the limit."""
    risk: Any = section.get("risk")
    is_share = isinstance(risk, int | float) and MIN_RISK <= risk <= 1
    is_combined = section.get("scope", "combination") == "combination"
    return is_share and is_combined and not section.get("keys")


def require_counted(privacy: Privacy, weight: str | None) -> None:
    """Refuse limits of risks that sampling weights would change.

    Raises
    ------
    JobError
        Records have the `weight`, and a risk is limited that counts each of them once.
    """
    limited = [key for key in ("risk", "average_risk") if getattr(privacy, key)]
    if weight is not None and limited:
        raise JobError(
            f"{' and '.join(limited)} under [privacy] "
            f"{'counts' if len(limited) == 1 else 'count'} each record once, and "
            f"{weight!r} says how many of the population each record stands for.",
            fix=f"leave {' and '.join(limited)} out: choose k, by which the risk of a "
            "record in the sample is at most 1/k, and read the risk by weights that "
            "aggopt risk prints.",
        )


def _reduce_treatment(required: Collection[str], treatment: Treatment) -> Treatment:
    """Return a treatment without the keys of models that are not required."""
    idle = {
        key
        for model in REQUIREMENTS.values()
        for key in model.treatment.model_fields
        if model.name not in required
    }
    return Treatment(
        **{
            n: getattr(treatment, n)
            for n in list_written_keys(treatment)
            if n not in idle
        }
    )


def _needs() -> dict[str, tuple[str, ...]]:
    """Return, for each key, the models that give it an effect."""
    of_values = tuple(n for n, model in REQUIREMENTS.items() if model.requirement)
    of_values += (OWN_MODELS,)
    models = {"repair": of_values, "confidential": of_values}
    for model in REQUIREMENTS.values():
        others = [key for key in model.settings.model_fields if key != model.name]
        models |= {key: (model.name,) for key in others}
    return models
