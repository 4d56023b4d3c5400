"""Comparison of originals of blocks with their release: imputed or unchanged values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggopt.core.columns import REFUSE
from aggopt.core.types import I64, Labels
from aggopt.core.validation import Floats
from aggopt.engine.run_state import BlockState
from aggopt.engine.storage.scratch_files import load_arrays, sum_arrays
from aggopt.pipeline.finish.original_comparison import rounding_distance
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.missing import MissingValues
from aggopt.release.audit.unchanged import Unchanged, count_unchanged_values


def count_missing(X: Floats, released: Floats, counts: Floats) -> dict[str, I64]:
    """Return the missing values of originals (n, d) and of their release, by name.

    `counts` (m, d) are the originals behind each value of a group.
    """
    before, after = np.isnan(X), np.isnan(released)
    behind = counts[counts > 0]
    least = int(behind.min()) if behind.size else np.iinfo(np.int64).max
    return {
        "suppressed": (after & ~before).sum(axis=0),
        "imputed": (before & ~after).sum(axis=0),
        "least": np.array(least),
    }


def count_unchanged(
    X: Floats, released: Floats, labels: Labels, config: BlockState
) -> dict[str, Any]:
    """Return what of the originals of a block (n, d) is published unchanged, by name.

    `labels` (n,) are the groups.
    """
    names, steps = config.job.roles.quasi_identifier, np.zeros(X.shape[1])
    spreads = config.scale.spread.tolist()
    for j, name, spread in zip(config.places, config.numbers, spreads, strict=True):
        clock = config.clocks.get(name)
        steps[j] = rounding_distance(spread, config.job.output, clock)
    found = count_unchanged_values(
        names, X, released, steps, [(range(X.shape[1]), labels)]
    )
    return {
        "records": found.records,
        "cells": list(found.cells.values()),
        "identical": found.identical,
        "identical_cells": list(found.identical_cells.values()),
        "moved": list(found.moved.values()),
    }


def add_originals(found: Audit, config: BlockState) -> Audit:
    """Return an audit with the comparison with the originals of all blocks."""
    return _with_unchanged(_with_holes(found, config), config)


def _with_holes(found: Audit, config: BlockState) -> Audit:
    paths = config.all("holes", len(config.blocks))
    sums = sum_arrays(paths, "suppressed", "imputed")
    lost, made = int(sums["suppressed"].sum()), int(sums["imputed"].sum())
    if not (found.missing or made):
        return found
    holes = found.missing or MissingValues(0, 0)
    if config.job.missing.policy != REFUSE:
        least = min(int(load_arrays(path, "least")["least"]) for path in paths)
        holes = replace(
            holes,
            suppressed=lost,
            imputed=made,
            least=least,
            suppressed_in=_by_name(sums["suppressed"], config, all_of_them=False),
            imputed_in=_by_name(sums["imputed"], config, all_of_them=False),
        )
    return replace(found, missing=holes, notes=(*found.notes, *holes.notes))


def _with_unchanged(found: Audit, config: BlockState) -> Audit:
    sums = sum_arrays(config.all("unchanged", len(config.blocks)))
    same = Unchanged(
        records=int(sums["records"]),
        cells=_by_name(sums["cells"], config),
        identical=int(sums["identical"]),
        identical_cells=_by_name(sums["identical_cells"], config),
        moved=_by_name(sums["moved"], config),
    )
    more = *found.disclosures, *same.disclosures(found.records)
    rest = [note for note in found.notes if note not in found.disclosures]
    return replace(found, unchanged=same, disclosures=more, notes=(*more, *rest))


def _by_name(
    counts: Sequence[float], config: BlockState, *, all_of_them: bool = True
) -> dict[str, int]:
    """Return the counts (d,) of quasi-identifiers, or of the non-zero ones only."""
    pairs = zip(config.job.roles.quasi_identifier, map(int, counts), strict=True)
    return {name: count for name, count in pairs if count or all_of_them}
