"""Tasks that read the table: its summary, its coordinates, the block of each record."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.core.standardise import Scale
from aggopt.core.types import F64, I64, Floats
from aggopt.data.context.confidential import read_confidential_attributes
from aggopt.data.parsing.numbers import check_magnitudes
from aggopt.data.table import Table
from aggopt.encoding import Categories, Encoded, EncodedAttribute
from aggopt.encoding.encoded_table import join_attributes
from aggopt.encoding.typed_column import NumericColumn
from aggopt.engine.state.category_levels import count_coordinates
from aggopt.engine.state.moments import PartMoments
from aggopt.engine.state.run_state import LeafState, RunState
from aggopt.engine.state.shuffle import Shuffle
from aggopt.engine.state.split_tree import count_patterns, count_present
from aggopt.engine.steps import attribute_values
from aggopt.engine.steps.global_confidential import count_confidential_values
from aggopt.engine.steps.strata import count_buckets, find_bucket, read_published_rows
from aggopt.engine.steps.weights import describe_weights, read_weights
from aggopt.engine.storage.scratch_files import append_column, load_arrays, save_arrays
from aggopt.engine.validate.values import (
    require_originals_inside,
    require_supported_weights,
)
from aggopt.errors import naming

AT_ONCE = 2**16  # records that are encoded at once, where they are narrow
COORDINATES = 2**22  # of records that are encoded at once, at most: 32 MiB


def describe_part(number: int, config: RunState) -> int:
    """Check a piece; write its moments and a sample; return its record count."""
    piece = config.pieces[number]
    job = config.job
    read = piece.read(config.columns)
    with naming(piece.path.name):
        rows = attribute_values.parse_dates(read, config)
        table = read_checked_table(rows, config)
        read_confidential_attributes(
            table.frame, job.roles, job.privacy, job.input.decimal
        )
        require_supported_weights(table, job)
        names = (*table.numeric, *table.roles.numbers)
        plain = [name for name in names if name not in table.clocks]
        check_magnitudes(table.frame, plain)
    rows, kept_rows = read_published_rows(rows, 0, config)
    count_confidential_values(rows, "described", number, config)
    X = table.matrix()[kept_rows]
    weights = read_weights(table)
    weights = None if weights is None else weights[kept_rows]
    numbers = X[:, config.places]
    with naming(piece.path.name):
        require_originals_inside(X, table, job)
    draws = np.random.default_rng([config.job.partition.settings["seed"], number])
    drawn = np.flatnonzero(draws.random(len(X)) < config.rate)
    by_weight = {} if weights is None else vars(PartMoments.of(numbers, weights))
    save_arrays(
        config.at("described", number),
        sample=X[drawn],
        **vars(PartMoments.of(numbers)),
        **{f"{name} by weight": value for name, value in by_weight.items()},
        **describe_weights(weights),
        **attribute_values.sum_level_weights(X, weights, config),
        **count_patterns(np.isnan(X)),
    )
    return len(X)


def read_checked_table(rows: pa.Table, config: RunState) -> Table:
    """Return some records as a table, validated by the job's roles and types."""
    like = attribute_values.make_empty_table(rows.schema, config)
    job = config.job
    return Table.of(rows, job.roles.released, job.released_attributes, like=like)


def read_summary(config: RunState) -> tuple[PartMoments, Floats]:
    """Return the moments of the numbers of all records, and the sample (s, d)."""
    parts = [load_arrays(path) for path in read_descriptions(config)]
    what = "" if config.mean_weight is None else " by weight"
    names = [moments_of_part.name for moments_of_part in fields(PartMoments)]
    moments = [
        PartMoments(**{name: arrays[name + what] for name in names}) for arrays in parts
    ]
    samples = [arrays["sample"] for arrays in parts]
    return PartMoments.together(moments), np.vstack(samples)


def read_descriptions(config: RunState) -> list[Path]:
    """Return the paths of the first pass's results for each piece."""
    return config.all("described", len(config.pieces))


def scatter_part(number: int, config: LeafState) -> list[int]:
    """Write a piece's records by tree leaf; return each leaf's record count."""
    piece = config.pieces[number]
    typed = attribute_values.parse_dates(piece.read(config.columns), config)
    rows, numbers = read_published_rows(typed, piece.first, config)
    to = config.at("scattered", number)
    spread = make_leaf_shuffle(config)
    leaf = np.empty(0, np.int64)
    if len(rows):
        leaf = _find_leaves(rows, numbers, number, config)
    return spread.write(to, append_column(rows, numbers), leaf)


def _find_leaves(rows: pa.Table, numbers: I64, number: int, config: LeafState) -> I64:
    """Return the leaf, or bucket, of each record of a piece, (n,)."""
    X = read_checked_table(rows, config).matrix()
    rows_at_once = count_rows_at_once(config)
    parts = (slice(i, i + rows_at_once) for i in range(0, len(X), rows_at_once))
    leaves = [
        config.tree.leaf(
            compute_block_coordinates(X[part], config, config.scale), numbers[part]
        )
        for part in parts
    ]
    leaf = np.concatenate(leaves)
    if config.buckets is not None:
        leaf = config.buckets.bucket(np.isnan(X), leaf)
    leaf = find_bucket(leaf, rows, config)
    if config.job.missing.policy == "fill":
        save_arrays(
            config.at("there", number), **count_present(X, leaf, count_buckets(config))
        )
    return leaf


def count_rows_at_once(config: RunState) -> int:
    """Return the number of records to encode at once, fewer if they are wide."""
    width = count_coordinates(config.job, config.levels)
    return min(AT_ONCE, COORDINATES // max(width, 1) + 1)


def make_leaf_shuffle(config: LeafState) -> Shuffle:
    """Return the shuffle of records from pieces to the leaves of each stratum."""
    return Shuffle("scattered", len(config.pieces), count_buckets(config))


def compute_covariance(part_moments: PartMoments, scale: Scale) -> Any:
    """Return the covariance matrix (d, d) of all records, on z-scores."""
    unit = np.where(scale.constant, 1.0, scale.spread)
    total = (
        part_moments.products / np.maximum(part_moments.n, 1.0) / np.outer(unit, unit)
    )
    total[scale.constant, :] = total[:, scale.constant] = 0.0
    return total


def compute_coordinates(X: Floats, config: RunState, scale: Scale) -> Encoded:
    """Return records X (n, d) encoded as coordinates, as by `aggopt.encode`.

    A missing value, nan, has coordinates that are nan.  `scale` is the scale of the
    numbers of all records.
    """
    Z = scale.standardise(X[:, config.places])
    encoded = []
    parts = []
    for name, x in zip(config.job.roles.quasi_identifier, X.T, strict=True):
        if name in config.levels:
            attribute, part = _encode_category(name, x, config)
        else:
            j = config.numbers.index(name)
            constant = bool(scale.constant[j])
            attribute, part = _encode_number(name, x, Z[:, j], config, constant)
        encoded.append(attribute)
        parts.append(part)
    return join_attributes(encoded, parts)


def compute_block_coordinates(X: Floats, config: RunState, scale: Scale) -> F64:
    """Return coordinates (n, p) for cutting blocks, means for missing values.

    `scale` is the scale of the numbers of all records.
    """
    records = compute_coordinates(X, config, scale)
    result = records.coordinates
    if not np.isnan(result).any():
        return result
    result = result.copy()
    for attribute in records.attributes:
        columns = result[:, attribute.columns]  # a view
        is_category = attribute.name in config.levels
        middle = config.levels[attribute.name].middle if is_category else 0.0
        np.copyto(columns, middle, where=np.isnan(columns))
    return result


def _encode_category(
    name: str, x: Floats, config: RunState
) -> tuple[EncodedAttribute, F64]:
    """Return an encoded category and its coordinates (n, q)."""
    levels = config.levels[name]
    absent = np.isnan(x)
    codes = np.where(absent, -1, x).astype(np.int64)
    categories = Categories(levels.domain, codes)
    attribute = EncodedAttribute(name, levels.kind, levels.weight, slice(0), categories)
    return attribute, np.where(absent[:, None], np.nan, levels.points[codes])


def _encode_number(
    name: str, x: Floats, z: Floats, config: RunState, constant: bool
) -> tuple[EncodedAttribute, F64]:
    """Return an encoded number and its coordinate (n, 1), or none if constant."""
    weight = 0.0 if constant else get_attribute_weight(name, config)
    part = np.sqrt(weight) * z[:, None][:, : int(not constant)]
    numeric_column = NumericColumn(x)
    return EncodedAttribute(
        name, "numeric", weight, slice(0), numbers=numeric_column
    ), part


def get_attribute_weight(name: str, config: RunState) -> float:
    """Return the weight of an attribute's distances, as the job sets it."""
    attributes = config.job.attributes
    return float(attributes[name].weight) if name in attributes else 1.0
