"""Type of an attribute as a user declares it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any, Literal, get_args

from aggopt.core.columns import OWN, REFUSE, describe_argument
from aggopt.core.validation import is_number
from aggopt.encoding.date_format import DateFormat
from aggopt.encoding.generalisation_rule import (
    LEAVES,
    SUPPRESS,
    GeneralisationRule,
)
from aggopt.errors import JobError, UnknownNameError, require_known
from aggopt.privacy.metric import read_order

Kind = Literal["numeric", "date", "nominal", "ordinal", "hierarchical", "distances"]
KINDS = get_args(Kind)
NUMERIC = ("numeric", "date")  # kinds that are compared as numbers
MOST_WEIGHT = 1e100  # squares of its sums over records are floats yet
BY = {"order": "ordinal", "tree": "hierarchical", "distances": "distances"}


@dataclass(frozen=True, eq=False)
class AttributeType:
    """Rule to compare the values of an attribute.

    Attributes
    ----------
    kind
        "numeric", "date", "nominal", "ordinal", "hierarchical" or "distances".  If
        omitted, the order, the tree or the distances determine it.  Without these,
        numbers and dates are numeric, text and truth values nominal, and a categorical
        column nominal or, if it is ordered, ordinal.  "date" reads text as dates, times
        of day or durations, in the format of ISO 8601.
    order
        The levels of an ordinal attribute, lowest first.
    tree
        Tree of a hierarchical attribute: lists in maps, {"lung": ["asthma", "flu"],
        "heart": ["attack"]}; the parent of each value; or the path of a hierarchy as
        ARX writes it, lines of `leaf;level 1;...;*`, or these lines, each a list of its
        entries.
    distances
        Distances of the levels, {"a": {"b": 1.0, "c": 2.0}, "b": {"c": 1.0}}: one for
        each pair; or a table with the levels as columns and as index.
    weight
        Factor of the attribute's distances, in addition to `weights`.
    missing
        "refuse" missing values; or "own value": missing is one more level, in a tree
        directly below the root.
    format
        Format of dates in text, as "%d.%m.%Y" for 22.09.1930, on reading and
        publishing.
    publish, cost, cuts
        What groups publish that is true of all their records, and what it costs: see
        `aggopt.encoding.generalisation_rule.GeneralisationRule`.  Left out, groups
        publish means or levels.

    Examples
    --------
    >>> AttributeType(order=["low", "middle", "high"]).kind
    'ordinal'
    """

    kind: str | None = None
    order: Any = field(default=None, repr=False)
    tree: Any = field(default=None, repr=False)
    distances: Any = field(default=None, repr=False)
    weight: float = 1.0
    missing: str = REFUSE
    format: str | None = None
    publish: str | None = None
    cost: Any = LEAVES
    cuts: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        set_names = [name for name in BY if getattr(self, name) is not None]
        if len(set_names) > 1:
            raise JobError(
                f"{' and '.join(set_names)} are both given.",
                fix="keep one of them: an attribute has an order, a tree or distances.",
            )
        if self.kind is None and set_names:
            object.__setattr__(self, "kind", BY[set_names[0]])
        if self.format is not None:
            DateFormat(self.format)
            object.__setattr__(self, "kind", self.kind or "date")
        self._require_kind(set_names)
        self._require_rest()
        self._require_statement()
        if self.order is not None:
            object.__setattr__(self, "order", read_order(self.order))

    @classmethod
    def of(cls, declared: Any) -> "AttributeType":
        """Return the type that was given as one, or as a map of its keys."""
        if isinstance(declared, cls):
            return declared
        if not isinstance(declared, Mapping):
            raise JobError(
                f"The type of an attribute is {describe_argument(declared)}, "
                "and no map.",
                fix='write {"kind": "nominal"}, {"order": [...]} or {"tree": ...}.',
            )
        names = [declared_field.name for declared_field in fields(cls)]
        for key in declared:
            if key not in names:
                raise UnknownNameError("key of an attribute", str(key), names)
        return cls(**declared)

    def _require_kind(self, keys: list[str]) -> None:
        if self.kind is None:
            return
        require_known("kind of attribute", self.kind, KINDS)
        wrong = [name for name in keys if BY[name] != self.kind]
        if wrong:
            raise JobError(
                f'{wrong[0]} has no meaning for kind = "{self.kind}".',
                fix=f'leave it out, or write kind = "{BY[wrong[0]]}".',
            )
        if self.format is not None and self.kind != "date":
            raise JobError(
                f'format has no meaning for kind = "{self.kind}".',
                fix='leave it out, or write kind = "date".',
            )
        for name in ("tree", "distances"):
            if self.kind == BY[name] and name not in keys:
                raise JobError(
                    f'kind = "{self.kind}" needs {name}.',
                    fix=f'give {name}, or write kind = "nominal".',
                )

    @property
    def is_truthful(self) -> bool:
        """Whether groups publish a statement that is true of all their records."""
        return self.rule.is_truthful

    @property
    def rule(self) -> GeneralisationRule:
        """What groups publish, and the factor of its loss."""
        return GeneralisationRule(self.publish, self.cost, self.cuts, self.weight)

    def _require_statement(self) -> None:
        """Refuse a statement that has no meaning for the kind, and costs of no tree."""
        has_costs = self.cost != LEAVES
        if has_costs and (self.kind != "hierarchical" or self.publish == SUPPRESS):
            raise JobError(
                "cost is that of the nodes of a tree, and no group publishes one.",
                fix='leave it out, or give a tree and publish = "ancestor".',
            )
        if self.kind is not None and self.is_truthful:
            self.rule.choose(self.kind)

    def _require_rest(self) -> None:
        weight = self.weight
        if is_number(weight) and isfinite(weight) and weight > MOST_WEIGHT:
            raise JobError(
                f"weight = {weight}: sums of such distances are beyond what a float "
                "can hold.",
                fix="pass a smaller number: weights count relative to each other.",
            )
        if not (is_number(weight) and isfinite(weight) and weight > 0):
            raise JobError(
                f"weight = "
                f"{weight if is_number(weight) else describe_argument(weight)}.",
                fix="pass a number above 0; leave the attribute out of the table if it "
                "is to weigh nothing.",
            )
        if not isinstance(self.missing, str) or self.missing not in (REFUSE, OWN):
            raise JobError(
                f"missing is {describe_argument(self.missing)}, "
                "none of the two ways known.",
                fix=f'write missing = "{OWN}" for one level more, or "{REFUSE}".',
            )
        if self.missing == OWN and self.kind in (*NUMERIC, "ordinal", "distances"):
            raise JobError(
                f'Missing values have no place among values of kind "{self.kind}".',
                fix='fill it, or write kind = "nominal", or give a tree.',
            )
