"""Patterns of missing values among the records of a table."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.types import Bool
from aggopt.data.context.strata import RecordStrata
from aggopt.encoding import Encoded, EncodedAttribute
from aggopt.missing._patterns import Patterns
from aggopt.missing._patterns import combine_patterns as joined
from aggopt.release.audit.counts import combine_codes


def join_patterns(
    incomplete: Encoded, absent: Bool, k: int, block: Sequence[int]
) -> Patterns:
    """Return the patterns of a block of attributes, each of k records or more."""
    own = incomplete.only(block)
    return joined(absent[:, list(block)], k, own.coordinates, own.owner)


def join_patterns_within_strata(
    incomplete: Encoded,
    absent: Bool,
    k: int,
    block: Sequence[int],
    strata: RecordStrata,
) -> Patterns:
    """Return the joined patterns of each stratum, without joining across strata."""
    own, holes = incomplete.only(block), absent[:, list(block)]
    labels, suppressed = np.empty_like(strata.labels), np.empty_like(holes)
    for rows in strata.members:
        found = joined(holes[rows], k, own.coordinates[rows], own.owner)
        labels[rows], suppressed[rows] = found.labels, found.suppressed
    return Patterns(combine_codes([strata.labels, labels]), suppressed)


def find_missing(incomplete: Encoded) -> Bool:
    """Return which values (n, d) are missing.

    Those of an attribute without coordinates, being constant, are looked up in it.
    """
    return np.stack([_absent(each) for each in incomplete.attributes], axis=1)


def _absent(attribute: EncodedAttribute) -> Bool:
    if attribute.numbers is not None:
        return np.isnan(attribute.numbers.values)
    return attribute.codes < 0
