"""Tasks of stretched means that leave their bounds: the nearest ones within.

That is the program of P3M without a wish, which needs of a group no record, but its
size and its mean.
"""

from pathlib import Path

import numpy as np

from aggopt.algorithms.lagrangian.program import Separable
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.engine.state.run_state import BlockState, ShiftEnd
from aggopt.engine.steps.p3m import read_end
from aggopt.engine.storage.scratch_files import load_arrays, save_arrays
from aggopt.errors import InfeasibleInputError, naming
from aggopt.job import Job, Mean
from aggopt.models.shared.value_bounds import ROUNDING


def is_bound_at_risk(job: Job) -> bool:
    """Whether means are stretched of an attribute that has bounds."""
    aggregation = job.aggregation
    stretched = isinstance(aggregation, Mean) and aggregation.keep == "variance"
    return stretched and any(section.bounded for section in job.attributes.values())


def solve_bounded_means(j: int, config: BlockState) -> ShiftEnd | None:
    """Write the centroids of a number within its bounds, all on z-scores.

    Those are of what decides on a release.  Returns how their program ended; None where
    stretched means are within.
    """
    from aggopt.algorithms.lagrangian.solve import solve_separable  # imports numba

    if config.shift is None or config.ends is None or config.constant[j]:
        return None
    lower, upper = (float(end[j]) for end in config.ends)
    found, sizes = _read_means(j, config)
    rows = np.flatnonzero(sizes)
    stretched = (found[rows] - config.shift.centre[j]) * config.shift.map[j, j]
    if ((stretched >= lower - ROUNDING) & (stretched <= upper + ROUNDING)).all():
        return None
    means, standardised = _standardise_means(found[rows], sizes[rows], j, config)
    solution = solve_separable(_make_program(means, standardised, lower, upper))
    if solution.centroids is not None:
        centroids = np.full(len(sizes), np.nan)
        centroids[rows] = solution.centroids
        save_arrays(config.at("solved", j), centroids=centroids)
    return read_end(solution)


def _read_means(j: int, config: BlockState) -> tuple[Floats, Floats]:
    """Return the mean and the size of each group of all blocks, (m,)."""
    arrays = [
        load_arrays(path, "centroids", "sizes") for path in _read_block_means(config)
    ]
    place = config.places[j]
    means = np.concatenate([requirement["centroids"][:, j] for requirement in arrays])
    return means, np.concatenate(
        [requirement["sizes"][:, place] for requirement in arrays]
    )


def _standardise_means(
    means: Floats, sizes: Floats, j: int, config: BlockState
) -> tuple[Floats, Floats]:
    """Return means and sizes (m,) on the scale of what decides on a release."""
    kept_values = config.kept_values
    if kept_values is None:
        return means, sizes
    scale, factor = kept_values.scale, float(kept_values.factor[j])
    return (means - scale.mean[j]) / scale.spread[j], sizes * factor


def _read_block_means(config: BlockState) -> list[Path]:
    return config.all("grouped", len(config.blocks))


def _make_program(
    means: Floats, sizes: Floats, lower: float, upper: float
) -> Separable:
    """Return the program of centroids (m,) of mean 0 and variance 1, nearest to means.

    Minimise sum_j n_j t_j^2, where t_j = c_j - C_j, with lower <= c_j <= upper.
    """
    m = len(means)
    quartic = np.zeros((m, 5))
    quartic[:, 2] = sizes
    first: I64 = np.arange(m + 1)
    return Separable(
        first=first,
        low=lower - means,
        high=upper - means,
        quartic=quartic,
        level=np.zeros(m),
        sizes=sizes,
        centres=means,
        terms=np.zeros(m),
        total=0.0,
        squares=float(sizes.sum()),
        cardinality=0.0,
    )


def require_found(names: tuple[str, ...], ends: list[ShiftEnd | None]) -> None:
    """Refuse bounds within which no values were found.

    Raises
    ------
    InfeasibleInputError
        The attribute is named.
    """
    for name, end in zip(names, ends, strict=True):
        if end is not None and not end.status.usable:
            with naming(repr(name)):
                raise InfeasibleInputError(
                    "No values within the bounds of what is published were found that "
                    "keep the variance of the originals.",
                    fix="choose a smaller k, keep less, or leave a bound out.",
                )
