"""Records for trials of partitioners: ordinary ones, and edge cases by name."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from aggopt.checks.law import not_tried
from aggopt.core.types import F64, I64
from aggopt.privacy.distance import Distance
from aggopt.privacy.exact_order import Numbers
from aggopt.privacy.metric import Metric
from aggopt.privacy.model import OwnPrivacyModel, OwnRequirement, PrivacyModel
from aggopt.privacy.requirement import Requirement
from aggopt.privacy.value_levels import assign_levels

K = 4
SIZES = (1, 2, 7, 30, 31, 60, 61)  # k of 61 records: below, at and next to half and all


class Case(NamedTuple):
    """Records X (n, d), a group size, and the name of their edge case."""

    name: str
    X: F64
    k: int


@cache
def make_normal_records() -> F64:
    """Return 61 records of three attributes, without near-ties."""
    return _make_read_only(np.random.default_rng(20).normal(size=(61, 3)))


@cache
def list_edges() -> dict[str, F64]:
    """Return tables that are difficult for methods, by their edge cases."""
    rng = np.random.default_rng(20)
    ordinary = rng.normal(size=(61, 3))
    signs = rng.choice([-1.0, 1.0], size=(61, 3))
    tables = {
        "n is k": ordinary[:K],
        "n is 2k - 1": ordinary[: 2 * K - 1],
        "n is 2k": ordinary[: 2 * K],
        "n is 3k - 1": ordinary[: 3 * K - 1],
        "n is 3k": ordinary[: 3 * K],
        "n is 4k - 1": ordinary[: 4 * K - 1],
        "one attribute": ordinary[:, :1],
        "constant attribute": np.insert(ordinary, 1, 7.0, axis=1),
        "identical records": np.full((61, 3), 0.1),
        "duplicates by the hundred": rng.permutation(
            np.repeat(ordinary[:5], 100, axis=0)
        ),
        "grid full of ties": rng.integers(0, 2, size=(200, 3)).astype(np.float64),
        "offset far above spread": 1e9 + signs,
        "tiny": ordinary * 1e-12,
        "huge": ordinary * 1e12,
        "tiny beside huge": ordinary * [1e-12, 1.0, 1e12],
        "near the largest float": signs * 1e300,
        "at the smallest float": np.where(signs > 0, 5e-324, 0.0),
        "one far outlier": np.vstack([ordinary, [1e15, 0.0, 0.0]]),
        "more than a block": rng.normal(size=(1100, 2)),
        "more attributes than records": rng.normal(size=(9, 40)),
    }
    return {name: _make_read_only(X) for name, X in tables.items()}


@cache
def list_cases() -> tuple[Case, ...]:
    """Return every edge, and ordinary records with groups of any size."""
    every_case = [Case(name, X, K) for name, X in list_edges().items()]
    return (*every_case, *(Case(f"k = {k}", make_normal_records(), k) for k in SIZES))


def iter_partitions(n: int, k: int) -> Iterator[list[list[int]]]:
    """Yield every partition of records 0..n-1 into groups of k or more."""

    def grow(groups: list[list[int]], i: int) -> Iterator[list[list[int]]]:
        if i == n:
            yield groups
            return
        missing = sum(max(0, k - len(group)) for group in groups)
        if missing <= n - i:
            for g, group in enumerate(groups):
                yield from grow([*groups[:g], [*group, i], *groups[g + 1 :]], i + 1)
            yield from grow([*groups, [i]], i + 1)

    for groups in grow([], 0):
        if min(map(len, groups)) >= k:
            yield groups


def _make_read_only(X: F64) -> F64:
    """Return read-only records: many laws share them."""
    X.flags.writeable = False
    return X


NAME = "pay"  # of the attribute
UNIT = 4000  # by which its values differ
N = 40  # records
LEVELS = 8  # different values


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
        return assign_levels(self.numbers_, self.treatment.levels)

    def distance(self) -> Distance:
        """Return the ordered distance of the values."""
        return Metric("ordered").of(self.numbers_, self.codes)

    def numbers(self) -> Numbers:
        """Return the values, exactly."""
        return Numbers.of(self.distinct, self.codes)

    def entries(self) -> I64:
        """Return the values, (n,)."""
        return self.numbers_


def make_people(n: int = N) -> tuple[F64, I64]:
    """Return two quasi-identifiers (n, 2), and pay (n,) that depends on the first.

    Each pay is that of n / 8 records, so that groups of one pay can be made.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.gamma(2.0, 1e4, n), rng.integers(18, 90, n)])
    rank = np.empty(n, np.int64)
    rank[np.argsort(X[:, 0] * rng.uniform(0.7, 1.3, n))] = np.arange(n)
    return X, UNIT * (1 + rank * LEVELS // n)


def read_template_keys(model: PrivacyModel) -> dict[str, Any]:
    """Return the keys of a model that its template shows, as [privacy] has them."""
    shown = [line.removeprefix("# ") for line in model.template.splitlines()]
    return tomllib.loads(
        "\n".join(line for line in shown if line.startswith(f"{model.name} "))
    )


def build_requirement(
    model: PrivacyModel, pay: I64, settings: Mapping[str, Any] = MappingProxyType({})
) -> Requirement:
    """Return a model's requirement on an attribute, by the line of its template.

    A user's model has these settings.
    """
    if isinstance(model, OwnPrivacyModel):
        arguments = model.function.check_arguments(settings)
        return OwnRequirement(NAME, pay, model.function, arguments)
    if model.requirement is None:
        not_tried("it is of records alone, which partitioners are tried for")
    keys = read_template_keys(model)
    if not keys:
        not_tried(f"its template has no line that begins with '# {model.name} = '")
    ordered = (
        {"distance": "ordered"} if "distance" in _list_fields(model.treatment) else {}
    )
    distance = (
        {"distance": "ordered"} if "distance" in _list_fields(model.settings) else {}
    )
    column = PayColumn(pay, model.treatment(**ordered))
    return model.requirement(column, model.settings(**keys, **distance))


def _list_fields(section: Any) -> Any:
    return section.model_fields
