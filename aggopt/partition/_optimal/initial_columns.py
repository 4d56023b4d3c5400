"""Initial partitions by local search, and the groups of its changes."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats, Labels
from aggopt.partition._local_search.column_pool import Collection
from aggopt.partition._local_search.search import improve_labels
from aggopt.partition._local_search.setup import create_weights
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.columns import GroupColumns

NEAREST = 10  # neighbours whose groups a record may change with


class Searches:
    """Local searches that collect the groups of their changes."""

    def __init__(
        self,
        Z: Floats,
        k: int,
        near: Labels,
        seed: int,
        weights: Floats | None = None,
    ) -> None:
        self.Z, self.k, self.weights = Z, k, create_weights(weights, len(Z), k)
        self.near = np.ascontiguousarray(near[:, :NEAREST])
        self.met = Collection(len(Z))
        self.rng = np.random.default_rng(seed)
        self._given = 0

    def improved(self, labels: Labels, perturbations: float, clock: Deadline) -> Labels:
        """Return labels of no more SSE, after `perturbations` per record."""
        seed = int(self.rng.integers(2**31))
        labels_found = improve_labels(
            self.Z,
            labels,
            self.k,
            self.near,
            perturbations=perturbations,
            seed=seed,
            clock=clock,
            pool=self.met,
            weights=self.weights,
        )
        return np.asarray(labels_found, np.intp)

    def new_groups(self) -> GroupColumns:
        """Return the groups collected since the last call."""
        start, who = self.met.groups()
        start = start[self._given :]
        before = self._given
        self._given = before + len(start) - 1
        sizes = np.diff(start)
        rows = np.full((len(sizes), 2 * self.k - 1), -1, np.int32)
        group = np.repeat(np.arange(len(sizes)), sizes)
        who = who[start[0] :]
        rows[group, np.arange(len(who)) - (start[:-1] - start[0])[group]] = who
        return GroupColumns(rows, sizes)


def continue_search(
    generation: ColumnGeneration,
    searches: Searches,
    labels: Labels,
    perturbations: float,
    clock: Deadline,
) -> bool:
    """Improve labels, add collected groups; return whether the incumbent improved."""
    improved_labels = searches.improved(labels, perturbations, clock)
    if (
        not generation.pricer.duplicates.some
    ):  # otherwise collected groups differ in duplicates only
        generation.add(searches.new_groups())
    return generation.offer(improved_labels)
