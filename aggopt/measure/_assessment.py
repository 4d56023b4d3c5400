"""Every measure of one release at once."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.html import lines
from aggopt.core.plural import many
from aggopt.measure._dld import dld_of
from aggopt.measure._linkage import WHOLE, checked_whole, linkage_of
from aggopt.measure._loss import il1s_of, il_of, sse_of, sst_of
from aggopt.measure._pair import Pair
from aggopt.measure._pil import PilParts, pil_of
from aggopt.measure._reidentification import average_of, highest_of, sizes_of
from aggopt.measure._score import mean_of_two
from aggopt.measure._sdid import sdid_chance_of, sdid_of
from aggopt.measure._sl import sl_of

RISK = "Risk (lower is better)"


@dataclass(frozen=True)
class Assessment:
    """Risk, loss and satisfaction of one release; printed, it is a table.

    Attributes
    ----------
    highest_risk, average_risk, reidentifications
        Chance that a record is re-identified in its group, and how many are in
        expectation; lower is better.
    linkage, linkage_limit, linkage_blocks
        Records linked by the best one-to-one assignment, what no linkage exceeds, and
        in how many blocks it was sought; lower is better.
    dld
        Records linked to the nearest; lower is better.
    sdid, sdid_chance
        Disclosed values, and how many there would be by chance; lower is better.
    sse, sst, il, il1s
        Distances from the original to the released values; lower is better.
    pil, pil_parts
        Probabilistic information loss and its five parts; lower is better.
    dr
        Mean of `dld` and `sdid`; lower is better.
    si
        Mean of `dr` and `pil`; lower is better.
    sl
        Satisfaction level; higher is better.
    n, d, varying
        Numbers of records, of attributes, and of those that vary in the original:
        the others count for the groups of equal records, and in no other measure.
    safety, delta
        The arguments of `assess`; delta is None when it was not one number.

    All but `reidentifications`, `sse` and `sst` are fractions, not percentages; `il`
    and `il1s` alone may exceed 1.  Each is defined at the function of its name in
    `aggopt.measure`.
    """

    highest_risk: float
    average_risk: float
    reidentifications: int
    linkage: float
    linkage_limit: float
    linkage_blocks: int
    dld: float
    sdid: float
    sdid_chance: float
    sse: float
    sst: float
    il: float
    il1s: float
    pil: float
    pil_parts: PilParts
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
        return {
            RISK: self._risks(),
            "Loss (lower is better)": [
                ("IL", _percent(self.il), f"SSE {self.sse:.6g} / SST {self.sst:.6g}"),
                ("IL1s", _percent(self.il1s), "mean |difference| / (sqrt(2) S)"),
            ],
            "Figures of the literature (lower is better)": self._scores(),
            "Satisfaction (higher is better)": [("SL", _percent(self.sl), self._far())],
        }

    def _risks(self) -> list[tuple[str, str, str]]:
        groups, chance = self.reidentifications, _percent(self.sdid_chance)
        by = "" if self.linkage_blocks == 1 else f" in {self.linkage_blocks} blocks"
        limit = f"at most {_percent(self.linkage_limit)}"
        near = f"values within {self.safety:g} standard deviations"
        return [
            ("highest risk", _percent(self.highest_risk), "1 / smallest group"),
            (
                "average risk",
                _percent(self.average_risk),
                f"{many(groups, 'group')} / records",
            ),
            ("re-identified", str(groups), "records expected: sum of 1 / group size"),
            ("linkage", _percent(self.linkage), f"one-to-one assignment{by}; {limit}"),
            ("DLD", _percent(self.dld), "records linked to the nearest"),
            ("SDID", _percent(self.sdid), f"{near}; {chance} by chance"),
        ]

    def _scores(self) -> list[tuple[str, str, str]]:
        parts = asdict(self.pil_parts).items()
        return [
            ("DR", _percent(self.dr), "(DLD + SDID) / 2"),
            ("PIL", _percent(self.pil), "mean of the parts below"),
            *((f"  {name}", _percent(part), "") for name, part in parts),
            ("SI", _percent(self.si), "(DR + PIL) / 2"),
        ]

    def _far(self) -> str:
        if self.delta is None:
            return "values at the distance asked for"
        return f"values at least {self.delta:g} standard deviations away"


def assess(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    safety: float = 0.05,
    delta: npt.ArrayLike = 0.1,
    weights: npt.ArrayLike = 1.0,
    whole: int = WHOLE,
) -> Assessment:
    """Return every measure of a release, each computed once.

    `linkage` takes nearly all the time: seconds for 5000 records, which are assigned
    at once; more than `whole` are assigned in blocks, which is faster and mostly gives
    a little more, and the result says how many blocks there are.

    Parameters
    ----------
    original, released : (n, d)
        Same records, same attributes, in the original units.  All is measured in the
        original's standard deviations.
    safety
        As in `sdid`.
    delta, weights
        As in `sl`.
    whole
        As in `linkage`.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.
    JobError
        safety, delta, weights or whole cannot be used; see `sdid`, `sl`, `linkage`.
    InfeasibleInputError
        There is not enough memory; see `linkage`.

    Source: each at the function of its name.

    Examples
    --------
    >>> result = assess([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]])
    >>> round(result.il, 6), result.average_risk, result.linkage, result.sl
    (0.2, 0.5, 0.5, 1.0)
    """
    pair, whole = Pair.of(original, released), checked_whole(whole)
    satisfied, disclosed = sl_of(pair, delta, weights), sdid_of(pair, safety)
    near, parts = dld_of(pair), pil_of(pair)
    sizes, linked = sizes_of(pair), linkage_of(pair, whole)
    risk = mean_of_two(near, disclosed)
    return Assessment(
        highest_risk=highest_of(sizes),
        average_risk=average_of(sizes),
        reidentifications=len(sizes),
        linkage=linked.share,
        linkage_limit=linked.limit,
        linkage_blocks=linked.blocks,
        dld=near,
        sdid=disclosed,
        sdid_chance=sdid_chance_of(pair, safety),
        sse=sse_of(pair),
        sst=sst_of(pair),
        il=il_of(pair),
        il1s=il1s_of(pair),
        pil=parts.pil,
        pil_parts=parts,
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
