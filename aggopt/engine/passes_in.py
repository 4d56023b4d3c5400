"""Tasks that read the table: what is in it, and which block each record goes to."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.core.standardise import Scale
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.engine.config import Config, InLeaves
from aggopt.engine.coordinates import placed
from aggopt.engine.hole_buckets import patterns_of, there_in
from aggopt.engine.limits import require_originals_inside
from aggopt.engine.moments import PartMoments, ends_of, require_width
from aggopt.engine.passes_of_dates import typed_dates
from aggopt.engine.passes_of_levels import weights_of_levels, without_records
from aggopt.engine.strata import bucket_of, buckets_of, kept_rows
from aggopt.engine.two_levels import Spread
from aggopt.engine.weights import described_weights, each_of, require_weights
from aggopt.engine.whole import count_values
from aggopt.engine.workspace import load, save, with_column
from aggopt.errors import naming
from aggopt.input.confidential import confidential_of
from aggopt.input.table import Table

AT_ONCE = 2**16  # records that are encoded at once: one may have 1000 coordinates


def described(number: int, config: Config) -> int:
    """Check a piece, and write its moments and a sample of it; return its records."""
    piece = config.pieces[number]
    job = config.job
    read = piece.read(config.columns)
    with naming(piece.path.name):
        rows = typed_dates(read, config)
        table = table_of(rows, config)
        confidential_of(table.frame, job.roles, job.privacy, job.input.decimal)
        require_weights(table, job)
    rows, kept = kept_rows(rows, 0, config)
    count_values(rows, "described", number, config)
    X, each = table.matrix()[kept], each_of(table)
    each = None if each is None else each[kept]
    numbers = X[:, config.places]
    with naming(piece.path.name):
        require_originals_inside(X, table, config)
        require_width(*ends_of(numbers), config.numbers)
    draws = np.random.default_rng([config.job.partition.settings["seed"], number])
    drawn = np.flatnonzero(draws.random(len(X)) < config.rate)
    by_weight = {} if each is None else vars(PartMoments.of(numbers, each))
    save(
        config.at("described", number),
        sample=X[drawn],
        **vars(PartMoments.of(numbers)),
        **{f"{name} by weight": value for name, value in by_weight.items()},
        **described_weights(each),
        **weights_of_levels(X, each, config),
        **patterns_of(np.isnan(X)),
    )
    return len(X)


def table_of(rows: pa.Table, config: Config) -> Table:
    """Return the checked table of some records; raises as `Table.of`."""
    like = without_records(rows.schema, config)
    return Table.of(rows, config.job.roles.released, like=like)


def summary(config: Config) -> tuple[PartMoments, Floats]:
    """Return the moments of all numbers, and the sample (s, d), in the files' order.

    Raises
    ------
    TableError
        As `require_width`.
    """
    found = [load(path) for path in described_in(config)]
    what = "" if config.mean_weight is None else " by weight"
    names = [each.name for each in fields(PartMoments)]
    moments = [
        PartMoments(**{name: held[name + what] for name in names}) for held in found
    ]
    samples = [held["sample"] for held in found]
    low = np.min([each.low for each in moments], axis=0)
    require_width(low, np.max([each.high for each in moments], axis=0), config.numbers)
    return PartMoments.together(moments), np.vstack(samples)


def described_in(config: Config) -> list[Path]:
    """Return what the first pass has written of each piece."""
    return config.all("described", len(config.pieces))


def scattered(number: int, config: InLeaves) -> list[int]:
    """Write the records of a piece by their leaf; return how many each leaf has."""
    piece = config.pieces[number]
    typed = typed_dates(piece.read(config.columns), config)
    rows, numbers = kept_rows(typed, piece.first, config)
    to, spread = config.at("scattered", number), of_leaves(config)
    leaf = np.empty(0, np.int64)
    if len(rows):
        leaf = _leaf(rows, numbers, number, config)
    return spread.write(to, with_column(rows, numbers), leaf)


def _leaf(rows: pa.Table, numbers: I64, number: int, config: InLeaves) -> I64:
    """Return where the records of a piece go, (n,)."""
    X = table_of(rows, config).matrix()
    parts = (slice(i, i + AT_ONCE) for i in range(0, len(X), AT_ONCE))
    found = [
        config.tree.leaf(placed(X[part], config, config.scale), numbers[part])
        for part in parts
    ]
    leaf = np.concatenate(found)
    if config.buckets is not None:
        leaf = config.buckets.bucket(np.isnan(X), leaf)
    leaf = bucket_of(leaf, rows, config)
    if config.job.missing.policy == "fill":
        save(config.at("there", number), **there_in(X, leaf, buckets_of(config)))
    return leaf


def of_leaves(config: InLeaves) -> Spread:
    """Return how records are spread over the leaves of the tree, of each stratum."""
    return Spread("scattered", len(config.pieces), buckets_of(config))


def total_of(found: PartMoments, scale: Scale) -> Any:
    """Return the covariance matrix (d, d) of all records, on z-scores."""
    unit = np.where(scale.constant, 1.0, scale.spread)
    total = found.products / np.maximum(found.n, 1.0) / np.outer(unit, unit)
    total[scale.constant, :] = total[:, scale.constant] = 0.0
    return total
