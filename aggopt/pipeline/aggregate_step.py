"""From groups to published values: numbers by one method, categories by another."""

from dataclasses import dataclass, field
from functools import partial
from typing import cast

import numpy as np

from aggopt.aggregate import AGGREGATORS, Aggregation, PublishedCategories, plurality
from aggopt.aggregate._aggregation import column
from aggopt.core.randomness import seed_of
from aggopt.core.validation import Floats
from aggopt.encoding import Encoded
from aggopt.errors import naming
from aggopt.partition._in_blocks import called
from aggopt.pipeline import margins
from aggopt.pipeline.grouped import Grouped
from aggopt.pipeline.partition_step import Progress
from aggopt.solvers import Certificate


@dataclass(frozen=True, eq=False)
class Masked:
    """What is published of each record before rounding, and what is proven of it.

    Attributes
    ----------
    values : (n, d)
        Numbers in original units, nodes of the domain of a category.
    certificates
        One for each quasi-identifier, by name and in order.
    """

    values: Floats = field(repr=False)
    certificates: dict[str, Certificate]


def aggregated(given: Grouped, told: Progress) -> Masked:
    """Return what the job publishes of each group."""
    told("aggregate", 0.0)
    values = np.empty(given.whole.shape)
    found: dict[str, Certificate] = {}
    if given.names:
        numbers = _numbers(given, told)
        values[:, given.table.places] = numbers.values
        found |= zip(given.names, numbers.certificates, strict=True)
    names = given.job.roles.quasi_identifier
    for j, name in enumerate(names):
        if name in given.table.domains:
            with naming(repr(name)):
                chosen = _categories(given, j, name)
            values[:, j] = chosen.choice[chosen.labels]
            found[name] = chosen.certificate
    return Masked(values, {name: found[name] for name in names})


def _numbers(given: Grouped, told: Progress) -> Aggregation:
    how = given.job.aggregation
    settings = {**how.settings, **margins.program(given)}
    settings["progress"] = partial(told, "aggregate")
    combine = AGGREGATORS[how.method].function
    made: Aggregation = called(combine, given.X, given.labels_of_numbers, **settings)
    return made


def _categories(given: Grouped, j: int, name: str) -> PublishedCategories:
    stated = given.job.attributes.get(name)
    return plurality(
        cast(Encoded, given.records).attributes[j],  # as of any table with a category
        column(given.labels, j),
        publish=stated.publish if stated else "leaf",
        seed=seed_of(given.secret, f"categories of {name}"),
    )
