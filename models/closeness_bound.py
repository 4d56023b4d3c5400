r"""A lower bound of the loss of any t-close partition.

A group's mean of a function f of the confidential value is within t of the table's if
f is 1-Lipschitz (Kantorovich).  So the group means vary little along f.  If f explains
much of the quasi-identifiers, the group means vary little along these, too.  Variance
that the means lack is lost (law of total variance).  W is the mean covariance within
groups.

Data
    x         (n, d)  quasi-identifiers, standardised: mean 0, variance 1, no unit
    r         (n,)    place of each confidential value, from 0 to 1
    t                 largest EMD that a group may have
    pieces p          f has slope 1 or -1 on each of p pieces of [0, 1]
    v_ij      (n, p)  length of r_i's way in piece j, less its mean: f = sum_j +-v_j
    L         (d+p, q)  root of the covariance of (x, v): Sigma = L L', derived
    s_l       (p,)    signs of f, l = 1..2^(p-1): every f with these pieces
Variables
    Y         (q, q)  share that is within groups, W = L Y L'; symmetric
Minimise
    tr(W_xx) / d
Subject to
    share:      0 <= Y <= I                             (so 0 <= W <= Sigma)
    lipschitz:  s_l' (Sigma - W)_vv s_l <= t^2          for each l

Class: SDP.  By duality every multiplier >= 0 of lipschitz proves a bound, a sum of
eigenvalues.  So no solver need be trusted.

Source: this package, for the ordered EMD of Li, Li and Venkatasubramanian, ICDE 2007.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import Floats
from aggopt.core.validation import is_whole_number
from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.models._model import Model
from aggopt.models.shared.constraints import labelled
from aggopt.privacy.distance import read_threshold

LANGUAGES = ("cvxpy",)  # Pyomo has no semidefinite matrices
SAFE = 1e-9  # of the bound, for the rounding of eigenvalues


@dataclass(frozen=True, eq=False)
class Data:
    """Data of the model; see the module's docstring."""

    x: Floats = field(repr=False)
    r: Floats = field(repr=False)
    t: float
    pieces: int = 8

    def __post_init__(self) -> None:
        read_threshold(self.t)
        if self.x.ndim != 2 or self.r.shape != (len(self.x),):
            raise TableError(
                f"x has shape {self.x.shape}, and r {self.r.shape}.",
                fix="pass x (n, d) and r (n,), a record in each row.",
            )
        if not (np.isfinite(self.x).all() and ((self.r >= 0) & (self.r <= 1)).all()):
            raise TableError(
                "x has entries that are not finite, or r some outside [0, 1].",
                fix="standardise x, and divide the bins by the number of the last.",
            )
        if not is_whole_number(self.pieces) or not 1 <= self.pieces <= 12:
            raise JobError(
                f"pieces = {self.pieces}.", fix="pass a whole number from 1 to 12."
            )

    @cached_property
    def way(self) -> Floats:
        """Length of each record's bin value within each of p pieces (n, p)."""
        ends = np.linspace(0, 1, self.pieces + 1)
        return np.asarray(np.clip(self.r[:, None] - ends[:-1], 0, 1 / self.pieces))

    @cached_property
    def covariance(self) -> Floats:
        """Covariance matrix Sigma of x and of the lengths in pieces (d + p, d + p)."""
        coordinates = np.hstack([self.x, self.way])
        coordinates = coordinates - coordinates.mean(axis=0)
        return np.asarray(coordinates.T @ coordinates / len(coordinates))

    @cached_property
    def root(self) -> Floats:
        """Root L of the covariance, Sigma = L L', (d + p, q): q is its rank."""
        values, vectors = np.linalg.eigh(self.covariance)
        is_positive = values > 1e-12 * max(values[-1], 1e-300)
        return np.asarray(vectors[:, is_positive] * np.sqrt(values[is_positive]))

    @cached_property
    def along(self) -> Floats:
        """Coefficients s_l' L of each Lipschitz function f (2^(p-1), q)."""
        signs = np.array([(1, *s) for s in product((1, -1), repeat=self.pieces - 1)])
        return np.asarray(signs @ self.root[self.x.shape[1] :])

    @cached_property
    def loss(self) -> Floats:
        """Matrix (q, q) whose inner product with Y is the objective."""
        d = self.x.shape[1]
        return np.asarray(self.root[:d].T @ self.root[:d] / d)


class Point(NamedTuple):
    """A value of every variable: Y (q, q)."""

    Y: Floats


def build(data: Data, language: str) -> Any:
    """Return the semidefinite program in cvxpy; nothing is solved here."""
    if language not in LANGUAGES:
        raise UnknownNameError("modelling language of this model", language, LANGUAGES)
    import cvxpy as cp

    q = data.root.shape[1]
    Y = cp.Variable((q, q), name="Y", symmetric=True)

    share = [Y >> 0, np.eye(q) - Y >> 0]
    between = cp.sum(cp.multiply(data.along @ (np.eye(q) - Y), data.along), axis=1)
    lipschitz = between <= float(data.t) ** 2

    cost = cp.sum(cp.multiply(data.loss, Y))
    return cp.Problem(cp.Minimize(cost), labelled(share=share, lipschitz=lipschitz))


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    return float(np.sum(data.loss * at.Y))


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates share (by an eigenvalue) and lipschitz."""
    shares = np.linalg.eigvalsh(at.Y)
    gaps = np.eye(len(at.Y)) - at.Y
    between = np.sum((data.along @ gaps) * data.along, axis=1)
    far = float(np.max(between - float(data.t) ** 2))
    return {"share": float(max(-shares[0], shares[-1] - 1)), "lipschitz": far}


def proven(data: Data, multipliers: Floats) -> float:
    """Return the lower bound that multipliers (2^(p-1),) of lipschitz prove.

    With z >= 0, and B = I - Y the share between groups,

        tr(W_xx) / d = tr loss - <loss, B>
                    >= tr loss - t^2 sum z - <loss - sum_l z_l a_l a_l', B>

    and over all 0 <= B <= I, the largest last product is the sum of the positive
    eigenvalues.
    """
    z = np.maximum(multipliers, 0.0)
    left = data.loss - (data.along.T * z) @ data.along
    trace = np.maximum(np.linalg.eigvalsh(left), 0.0).sum()
    bound = np.trace(data.loss) - float(data.t) ** 2 * z.sum() - trace
    return float(max(0.0, bound - SAFE))


def multipliers(problem: Any, data: Data) -> Floats | None:
    """Return the multipliers of lipschitz (2^(p-1),) from a solved problem, or None."""
    duals = problem.constraints[-1].dual_value
    return None if duals is None else np.asarray(duals, dtype=float)


def example() -> Data:
    """Return small data of this model."""
    x = np.array([[-1.5], [-0.5], [0.5], [1.5]])
    return Data(x / x.std(), np.array([0.0, 0.0, 1.0, 1.0]), 0.1, 1)


MODEL = Model(
    name="closeness_bound",
    when="what no t-close partition falls below",
    rank=80,
    kind="SDP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=multipliers,
    example=example,
    multipliers=multipliers,
    proven=proven,
)
