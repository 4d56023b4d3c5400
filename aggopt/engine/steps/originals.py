"""Comparison of originals of blocks with their release: imputed or unchanged values."""

import numpy as np

from aggopt.core.types import Labels
from aggopt.core.validation import Floats
from aggopt.engine.state.run_state import BlockState
from aggopt.engine.storage.scratch_files import load_state, save_state
from aggopt.pipeline.finish.original_comparison import rounding_distance
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.missing import MissingChanges
from aggopt.release.audit.unchanged import Unchanged, count_unchanged_values


def compare_block(
    number: int, X: Floats, released: Floats, labels: Labels, config: BlockState
) -> None:
    """Write what a comparison of a block with its originals X (n, d) counts.

    `released` (n, d) are the published values, and `labels` (n,) the groups.
    """
    names, steps = config.job.roles.quasi_identifier, np.zeros(X.shape[1])
    spreads = config.scale.spread.tolist()
    for j, name, spread in zip(config.places, config.numbers, spreads, strict=True):
        clock = config.clocks.get(name)
        steps[j] = rounding_distance(spread, config.job.output, clock)
    groups = [(range(X.shape[1]), labels)]
    same = count_unchanged_values(names, X, released, steps, groups).of_members(())
    changes = MissingChanges.of(X, released, groups)
    save_state(config.at("compared", number), (changes, same))


def add_originals(found: Audit, config: BlockState) -> Audit:
    """Return an audit with the comparison with the originals of all blocks."""
    paths = config.all("compared", len(config.blocks))
    changes, same = zip(*map(load_state, paths), strict=True)
    names = config.job.roles.quasi_identifier
    return found.with_originals(
        names, MissingChanges.merge(changes), Unchanged.merge(same)
    )
