"""Every measure of one release at once."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.html import lines
from aggopt.measure._dld import dld_of
from aggopt.measure._loss import il1s_of, il_of, sse_of, sst_of
from aggopt.measure._pair import Pair
from aggopt.measure._pil import PilParts, pil_of
from aggopt.measure._score import mean_of_two
from aggopt.measure._sdid import sdid_of
from aggopt.measure._sl import sl_of

RISK = "Risk (lower is better)"


@dataclass(frozen=True)
class Assessment:
    """Loss, risk and satisfaction of one release; printed, it is a table.

    Attributes
    ----------
    sse, sst, il, il1s
        Distances from the original to the released values; lower is better.
    pil, pil_parts
        Probabilistic information loss and its five parts; lower is better.
    dld, sdid, dr
        Linked records, disclosed values, and their mean; lower is better.
    si
        Mean of `dr` and `pil`; lower is better.
    sl
        Satisfaction level; higher is better.
    n, d, varying
        Numbers of records, of attributes, and of those that vary in the original:
        the others weigh nothing in any measure.
    safety, delta
        The arguments of `assess`; delta is None when it was not one number.

    All but `sse` and `sst` are fractions, not percentages; `il` and `il1s` alone may
    exceed 1.  Each is defined at the function of its name in `aggopt.measure`.
    """

    sse: float
    sst: float
    il: float
    il1s: float
    pil: float
    pil_parts: PilParts
    dld: float
    sdid: float
    dr: float
    si: float
    sl: float
    n: int
    d: int
    varying: int
    safety: float
    delta: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the same as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def __str__(self) -> str:
        """Return a table in plain text."""
        return self.table()

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        return lines(str(self))

    def table(self, risks: Sequence[tuple[str, float, str]] = ()) -> str:
        """Return a table in plain text.

        `risks` are name, share and meaning of risks that others measured.
        """
        sections = self._sections()
        sections[RISK] += [(name, _percent(share), says) for name, share, says in risks]
        lines = [
            f"Records: {self.n}. Attributes: {self.d}, {self.varying} of them vary."
        ]
        for title, rows in sections.items():
            lines += ["", title]
            lines += [f"  {name:<14}{v:>9}  {says}".rstrip() for name, v, says in rows]
        return "\n".join(lines)

    def _sections(self) -> dict[str, list[tuple[str, str, str]]]:
        """Return rows of name, value and meaning under their titles."""
        near = f"values within {self.safety:g} standard deviations"
        far = "values at the distance asked for"
        if self.delta is not None:
            far = f"values at least {self.delta:g} standard deviations away"
        parts = asdict(self.pil_parts).items()
        return {
            "Loss (lower is better)": [
                ("IL", _percent(self.il), f"SSE {self.sse:.6g} / SST {self.sst:.6g}"),
                ("IL1s", _percent(self.il1s), "mean |difference| / (sqrt(2) S)"),
                ("PIL", _percent(self.pil), "mean of the parts below"),
                *((f"  {name}", _percent(part), "") for name, part in parts),
            ],
            RISK: [
                ("DLD", _percent(self.dld), "records linked to their own"),
                ("SDID", _percent(self.sdid), near),
                ("DR", _percent(self.dr), "(DLD + SDID) / 2"),
            ],
            "Both (lower is better)": [("SI", _percent(self.si), "(DR + PIL) / 2")],
            "Satisfaction (higher is better)": [("SL", _percent(self.sl), far)],
        }


def assess(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    safety: float = 0.05,
    delta: npt.ArrayLike = 0.1,
    weights: npt.ArrayLike = 1.0,
) -> Assessment:
    """Return every measure of a release, each computed once.

    Parameters
    ----------
    original, released : (n, d)
        Same records, same attributes, in the original units.  All is measured in the
        original's standard deviations.
    safety
        As in `sdid`.
    delta, weights
        As in `sl`.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.
    JobError
        safety, delta or weights cannot be used; see `sdid` and `sl`.

    Source: each at the function of its name.

    Examples
    --------
    >>> result = assess([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]])
    >>> round(result.il, 6), result.dld, result.sl
    (0.2, 0.5, 1.0)
    """
    pair = Pair.of(original, released)
    satisfied, disclosed = sl_of(pair, delta, weights), sdid_of(pair, safety)
    linked, parts = dld_of(pair), pil_of(pair)
    risk = mean_of_two(linked, disclosed)
    return Assessment(
        sse=sse_of(pair),
        sst=sst_of(pair),
        il=il_of(pair),
        il1s=il1s_of(pair),
        pil=parts.pil,
        pil_parts=parts,
        dld=linked,
        sdid=disclosed,
        dr=risk,
        si=mean_of_two(risk, parts.pil),
        sl=satisfied,
        n=pair.n,
        d=len(pair.varying),
        varying=int(pair.varying.sum()),
        safety=float(safety),
        delta=_number(delta),
    )


def _number(delta: npt.ArrayLike) -> float | None:
    array = np.asarray(delta)
    return float(array) if array.ndim == 0 else None


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.2f} %"
