"""Settings that the aggregations share that shift centroids away from originals."""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictInt

from aggopt.aggregate.distance_requests import Wish
from aggopt.aggregate.kept_statistics import Keeping
from aggopt.aggregate.secret_margins import WIDEST
from aggopt.core.section import SolverSection
from aggopt.core.types import Bool, Floats

INSISTS = 0.5  # importance above which a wish is nearly exact: a miss costs fourfold
DECIDES = 0.8  # alpha above which soft requests are as exact as demands

TEMPLATE = """\
# Those that move values away from the originals:
# delta = 0.1            # distance asked for, in standard deviations, or
#         { relative = 0.1 }      times the value's distance from the mean
#         { column = "far" }      each record's own, from a column listed in wish
#         { attributes = { age = { column = "wish_age" }, income = 0.2 } }
# importance = 0.001     # how much each record insists, from 0 to 1 (a demand)
# margin = 0.2           # secret, at most so much beyond delta: left out, delta / 2 or
#                          0.1, and of whole or rounded numbers more where wishes can be
#                          exact; without one (0) values point at originals
# alpha = 0.5            # distances (1) against small shifts (0); not satisfaction
# solver = "lagrangian"  # proves the optimum; `aggopt solvers` lists the others
# start = "means"        # of a local solver, as starts: or "renormalised", "lagrangian"
# starts = 5             # random starts besides, and
# seed = 0               # theirs
# time_limit = 60        # seconds per attribute; left out, 600 for SCIP and its kind
# options = {}           # the solver's own, under its own names
"""


Start = Literal["means", "renormalised", "lagrangian"]


class Shifting(SolverSection, Keeping):
    """Settings common to all aggregations that shift centroids.

    `margin` is the width of the secret margins beyond each distance, in standard
    deviations; 0 for none.  When left out: half the largest requested distance in the
    group, at least 0.1, and, if a distance can be exact, five steps of the attribute
    (of a count 1), though for these no more than 1.

    Attributes
    ----------
    two_sided
        Whether values beyond the requested distance cost as much as values within it.
        A distance of 0 is then a request, too.
    """

    two_sided: ClassVar[bool] = False
    delta: Wish = 0.1
    importance: Wish = 0.001
    margin: float | None = Field(
        default=None, ge=0, le=WIDEST, allow_inf_nan=False, strict=True
    )

    @property
    def draws_margins(self) -> bool:
        """Whether each release adds secret random margins to requested distances."""
        return self.margin != 0

    @property
    def function(self) -> str:
        """The name of the optimisation model that it solves."""
        name: str = self.method
        return f"{name}_joint" if self.joint else name

    @property
    def joint(self) -> bool:
        """Whether one program has several attributes, to keep their covariance."""
        return not {"covariance", "regression"}.isdisjoint(self.kinds)

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments for the method's function, without `margin`."""
        return {name: v for name, v in super().settings.items() if name != "margin"}

    def acts(self, distances: Floats, importance: Floats) -> Bool:
        """Return a mask (n, d) of the requests that can change the result."""
        return np.asarray((distances > 0) & (importance > 0))

    def exact(self, distances: Floats, importance: Floats) -> Bool:
        """Return a mask (n, d) of the requests that values may meet nearly exactly."""
        return self.acts(distances, importance)


class Squared(Shifting):
    """Those that weigh squares against each other, and that local solvers take."""

    alpha: float = Field(default=0.5, ge=0, le=1, strict=True)
    start: Start | None = None
    starts: StrictInt = Field(default=0, ge=0)
    seed: StrictInt | None = Field(default=None, ge=0)

    def acts(self, distances: Floats, importance: Floats) -> Bool:
        """Return a mask (n, d) of the requests that can change the result."""
        acts = (importance == 1) | (self.alpha > 0)
        return np.asarray(acts & (self.two_sided | (distances > 0)))

    def exact(self, distances: Floats, importance: Floats) -> Bool:
        """Return a mask (n, d) of the requests that values may meet nearly exactly."""
        acts = self.acts(distances, importance)
        return acts & (importance > INSISTS) if self.alpha <= DECIDES else acts
