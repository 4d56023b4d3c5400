"""Tasks of one block of records that lie near each other: its groups, its release."""

import numpy as np

from aggopt.aggregate import median
from aggopt.aggregate._aggregation import group_means
from aggopt.core.randomness import words
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.core.weights import weighted
from aggopt.engine.block_rows import of_block
from aggopt.engine.config import InBlocks
from aggopt.engine.passes_in import table_of
from aggopt.engine.passes_of_borders import groups_of, named
from aggopt.engine.two_levels import Spread
from aggopt.engine.weights import each_of, known_of, with_weights
from aggopt.engine.workspace import load, save, with_column
from aggopt.input.table import Table
from aggopt.job import Job
from aggopt.pipeline.rounding import on_grid, place_for

HELD = ("labels", "centroids")


def grouped(number: int, config: InBlocks) -> int:
    """Partition a block; write its groups and their sums; return how many there are."""
    rows, _ = of_block(number, config)
    job, scale = config.job, config.scale
    table = table_of(rows, config)
    X = table.matrix()
    Z = scale.standardise(X)
    labels = groups_of(number, table, config)
    weights = known_of(each_of(table), config)
    sizes = np.bincount(labels, weights).astype(np.float64)
    means = group_means(Z, labels, weights)
    centroids = means
    if job.aggregation.method == "median":
        centroids = median(Z, labels, weights=weights).centroids
    lost, away = Z - means[labels], Z - centroids[labels]
    save(
        config.at("grouped", number),
        labels=labels.astype(np.int32),
        centroids=centroids,
        sse=weighted(lost**2, weights).sum(axis=0),
        sae=weighted(np.abs(away), weights).sum(axis=0),
        sums=np.einsum("i,ij->j", sizes, centroids),
        products=np.einsum("i,ij,ik->jk", sizes, centroids, centroids),
    )
    return len(sizes)


def published(number: int, config: InBlocks) -> list[int]:
    """Write the records of a block as they are published, by the file they go to."""
    rows, numbers = of_block(number, config)
    held, scale = load(config.at("grouped", number), *HELD), config.scale
    labels, c = held["labels"], held["centroids"]
    if config.job.aggregation.method == "p3m":
        c = solved_of(number, config)
    elif config.shift is not None:
        c = config.shift.of(c)
    table = table_of(rows, config)
    X = table.matrix()
    values = rounded(scale.undo(c), table, config.job, scale)
    whole = config.job.output.round_integers
    masked = table.masked(values[labels], round_integers=whole)
    each = each_of(table)
    weights = known_of(each, config)
    before, after = c[labels], scale.standardise(masked.matrix())
    save(
        config.at("figures", number),
        kept=weighted(before, weights).sum(axis=0),
        products=np.einsum("ij,ik->jk", weighted(before, weights), before),
        released=weighted(after, weights).sum(axis=0),
        squares=weighted(after**2, weights).sum(axis=0),
        sse=weighted((scale.standardise(X) - after) ** 2, weights).sum(axis=0),
        exact=weighted((scale.standardise(X) - before) ** 2, weights).sum(axis=0),
    )
    place = words(config.secret, f"order of block {number}", len(labels))
    group = named(labels, number)
    out = with_weights(masked, labels, each, config.job).arrow()
    beside = (numbers, group, place.view(np.int64))
    for column in beside if each is None else (each, *beside):
        out = with_column(out, column)
    part = (place >> np.uint64(32)) * np.uint64(config.parts) >> np.uint64(32)
    to = config.at("published", number)
    return to_parts(config).write(to, out, part.astype(np.int64))


def to_parts(config: InBlocks) -> Spread:
    """Return how records of blocks are spread over the files of the release."""
    return Spread("published", len(config.blocks), config.parts)


def solved_of(number: int, config: InBlocks) -> Floats:
    """Return the centroids of a block (m, d) that programs of all blocks have."""
    first = sum(config.counts[:number])
    own = slice(first, first + config.counts[number])
    columns = config.all("solved", len(config.scale.spread))
    return np.stack(
        [load(path, "centroids")["centroids"][own] for path in columns], axis=1
    )


def rounded(values: Floats, table: Table, job: Job, scale: Scale) -> Floats:
    """Return centroids (m, d), in their own units, on the grid of each attribute."""
    found = values.copy()
    for j, name in enumerate(job.roles.quasi_identifier):
        place = place_for(table, job, name, float(scale.spread[j]))
        if place is not None:
            found[:, j] = on_grid(values[:, j], place)
    return found
