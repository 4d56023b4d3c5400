"""Confidential attribute for trials of privacy models and repairs."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from aggopt.checks.law import not_tried
from aggopt.core.types import F64, I64
from aggopt.privacy.distance import Distance
from aggopt.privacy.exact_order import Numbers
from aggopt.privacy.metric import Metric
from aggopt.privacy.model import OwnPrivacyModel, PrivacyModel
from aggopt.privacy.requirement import Requirement
from aggopt.privacy.user_model import OwnRequirement
from aggopt.privacy.value_levels import levels_of

NAME, UNIT = "pay", 4000  # of the attribute: its name, and what its values differ by
N, LEVELS = 40, 8  # records, and how many different values they have


@dataclass(frozen=True, eq=False)
class PayColumn:
    """Whole numbers (n,), as privacy models read a confidential attribute."""

    numbers_: I64 = field(repr=False)
    treatment: Any = None
    name: str = NAME
    counts: None = None

    @cached_property
    def codes(self) -> I64:
        """Which of the distinct values each record has, (n,)."""
        return np.unique(self.numbers_, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def distinct(self) -> Sequence[int]:
        """The distinct values, ascending."""
        return [int(value) for value in np.unique(self.numbers_)]

    def levels(self) -> I64:
        """Return the level of each number, (n,)."""
        return levels_of(self.numbers_, self.treatment.levels)

    def distance(self) -> Distance:
        """Return the ordered distance of the values."""
        return Metric("ordered").of(self.numbers_, self.codes)

    def numbers(self) -> Numbers:
        """Return the values, exactly."""
        return Numbers.of(self.distinct, self.codes)

    def entries(self) -> I64:
        """Return the values, (n,)."""
        return self.numbers_


def people(n: int = N) -> tuple[F64, I64]:
    """Return two quasi-identifiers (n, 2), and pay (n,) that depends on the first.

    Each pay is that of n / 8 records, so that groups of one pay can be made.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.gamma(2.0, 1e4, n), rng.integers(18, 90, n)])
    rank = np.empty(n, np.int64)
    rank[np.argsort(X[:, 0] * rng.uniform(0.7, 1.3, n))] = np.arange(n)
    return X, UNIT * (1 + rank * LEVELS // n)


def asked(model: PrivacyModel) -> dict[str, Any]:
    """Return the keys of a model that its template shows, as [privacy] has them."""
    shown = [line.removeprefix("# ") for line in model.template.splitlines()]
    return tomllib.loads(
        "\n".join(line for line in shown if line.startswith(f"{model.name} "))
    )


def requirement(
    model: PrivacyModel, pay: I64, settings: Mapping[str, Any] = MappingProxyType({})
) -> Requirement:
    """Return a model's requirement on an attribute, by the line of its template.

    A user's model has these settings.
    """
    if isinstance(model, OwnPrivacyModel):
        how = model.function.checked(settings)
        return OwnRequirement(NAME, pay, model.function, how)
    if model.requirement is None:
        not_tried("it is of records alone, which partitioners are tried for")
    keys = asked(model)
    if not keys:
        not_tried(f"its template has no line that begins with '# {model.name} = '")
    ordered = {"distance": "ordered"} if "distance" in _fields(model.treatment) else {}
    held = {"distance": "ordered"} if "distance" in _fields(model.settings) else {}
    column = PayColumn(pay, model.treatment(**ordered))
    return model.requirement(column, model.settings(**keys, **held))


def _fields(section: Any) -> Any:
    return section.model_fields
