"""A partitioner with its settings, as its laws see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aggopt.checks._records import Case, K, cases, normal
from aggopt.core.types import F64, Labels
from aggopt.partition import Partitioner
from aggopt.partition.registry import AttributeUse

L, T = 2, 0.5  # required of methods that use a confidential attribute


@dataclass(frozen=True, eq=False)
class TriedPartitioner:
    """A partitioner with its settings, in the form that laws call.

    Attributes
    ----------
    function, settings
        The function, and the settings of each call.
    takes
        Which attributes it groups; if it takes one, it receives the first.
    guarantees
        The requirements of k, l and t that its groups must satisfy.
    public
        Whether anyone may call it; only a job calls a user's own function, after it
        has made arrays and refused tables without numbers, or without k.
    records, group_sizes
        Ordinary records without near-ties, and the k of their groups.
    cases
        The tables on which its groups are counted.
    """

    name: str
    function: Callable[..., Any]
    settings: Mapping[str, Any]
    excused: Mapping[str, str]
    takes: AttributeUse = AttributeUse.SEVERAL
    guarantees: frozenset[str] = frozenset("k")
    public: bool = False
    records: F64 = field(default_factory=normal, repr=False)
    group_sizes: Sequence[int] = (2, 3, K)
    cases: Sequence[Case] = field(default_factory=cases, repr=False)
    _known: dict[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, method: Partitioner, settings: Mapping[str, Any], name: str
    ) -> "TriedPartitioner":
        """Return a method as its laws see it."""
        own = method.function, settings, method.excused
        return cls(name, *own, method.takes, method.guarantees, method.origin is None)

    @cached_property
    def arguments(self) -> Mapping[str, Parameter]:
        """The arguments of its function."""
        return signature(self.function).parameters

    @cached_property
    def asks(self) -> frozenset[str]:
        """The arguments that it needs in addition to X, k and its settings."""
        needs = {n for n, p in self.arguments.items() if p.default is Parameter.empty}
        return frozenset(needs & {"confidential", "l", "t"} - set(self.settings))

    @property
    def standardises(self) -> bool:
        """Whether it measures distances on z-scores."""
        return self.settings.get("scale") != "none"

    def __call__(self, X: Any, k: Any, order: Labels | None = None, **how: Any) -> Any:
        """Return its result for records, whose places are `order`."""
        asked = {"l": L, "t": T, "confidential": self._confidential(X, order)}
        given = {name: asked[name] for name in self.asks}
        return self.function(self.attributes(X), k=k, **given, **self.settings, **how)

    def attributes(self, X: Any) -> Any:
        """Return its part of records: all, the first attribute, or a column of it."""
        if self.takes is AttributeUse.SEVERAL or np.ndim(X) < 2:
            return X
        if isinstance(X, list):
            return [row[0] if self.takes is AttributeUse.ONE else row[:1] for row in X]
        first: Any = 0 if self.takes is AttributeUse.ONE else [0]
        return X.iloc[:, first] if isinstance(X, pd.DataFrame) else X[:, first]

    def labels(self, X: Any, k: Any, order: Labels | None = None) -> npt.NDArray[Any]:
        """Return the group of each record from its result, (n,)."""
        if isinstance(X, np.ndarray) and not X.flags.writeable:
            X = X.copy(order="K")  # kernels are compiled again for read-only arrays
        found = np.asarray(self(X, k, order))
        one = (
            self.takes is AttributeUse.EACH and found.ndim == 2 and found.shape[1] == 1
        )
        return found[:, 0] if one else found

    def at(self, case: Case) -> npt.NDArray[Any]:
        """Return the labels of a case, found once."""
        if case.name not in self._known:
            self._known[case.name] = self.labels(case.X.copy(), case.k)
        return self._known[case.name]

    def ordinary(self, k: int) -> npt.NDArray[Any]:
        """Return the labels of the ordinary records, found once."""
        return self.at(Case(f"k = {k}", self.records, k))

    @property
    def k(self) -> int:
        """The group size where one is enough."""
        return self.group_sizes[-1]

    def _confidential(self, X: Any, order: Labels | None) -> Any:
        """Return values that alternate, so that any two records side by side differ."""
        values = np.arange(np.shape(X)[0] if np.ndim(X) else 0) % L
        return values if order is None else values[order]


def alike(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether labels (n,) define equal groups, for any numbering.

    >>> alike(np.array([0, 0, 1]), np.array([1, 1, 0]))
    True
    """
    pairs = len(np.unique(np.stack([one, other]), axis=1).T)
    return pairs == len(np.unique(one)) == len(np.unique(other))
