"""Every measure of one release at once."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.html import lines
from aggopt.core.json_text import json_text
from aggopt.errors import require_known
from aggopt.measure._linkage import WHOLE, checked_whole, linked
from aggopt.measure._pair import Pair
from aggopt.measure._pil import PilParts
from aggopt.measure._registry import MEASURES, Comparison, Heading, Measure
from aggopt.measure._sdid import SDID
from aggopt.measure._sl import SL


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
    further
        Name and value of each measure of `MEASURES` that has no attribute here.

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
    further: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return what the measure of this name found.

        Raises
        ------
        UnknownNameError
            No measure that `assess` finds has the name.
        """
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        known = {n: found[n] for n in found if n in MEASURES} | dict(self.further)
        require_known("measure of an assessment", name, known)
        return known[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        values = asdict(self)
        return values | dict(values.pop("further"))

    def to_json(self) -> str:
        """Return the same as JSON text; null stands for what is not finite."""
        return json_text(self.to_dict())

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
        sections = {heading: list[tuple[str, str, str]]() for heading in Heading}
        for measure in MEASURES.values():
            if measure.heading is not None:
                sections[measure.heading] += self._rows(measure)
        of_others = [(name, _percent(share), says) for name, share, says in risks]
        sections[Heading.RISK] += of_others
        lines = [
            f"Records: {self.n}. Attributes: {self.d}, {self.varying} of them vary."
        ]
        for heading, rows in sections.items():
            lines += ["", heading.value]
            lines += [f"  {name:<14}{v:>9}  {says}".rstrip() for name, v, says in rows]
        return "\n".join(lines)

    def _rows(self, measure: Measure) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and meaning of a measure, and of its parts below it."""
        found, says = self[measure.name], measure.says or (lambda _: measure.when)
        shown = _percent(found) if measure.percent else _plain(found)
        yield measure.label or measure.name, shown, says(self)
        for name, part in measure.parts(self) if measure.parts else ():
            yield f"  {name}", _percent(part), ""


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
    tables = Comparison(pair, safety, delta, weights, whole)
    for refusing in (SL, SDID):  # their arguments: before linkage takes its time
        tables.figure(refusing)
    found = {name: tables.figure(m) for name, m in MEASURES.items() if m.of}
    own = {f.name for f in fields(Assessment)}
    linkage = tables.once(linked)
    return Assessment(
        **{name: found[name] for name in found if name in own},
        linkage_limit=linkage.limit,
        linkage_blocks=linkage.blocks,
        n=pair.n,
        d=len(pair.varying),
        varying=int(pair.varying.sum()),
        safety=float(safety),
        delta=_number(delta),
        further=tuple((name, found[name]) for name in found if name not in own),
    )


def _number(delta: npt.ArrayLike) -> float | None:
    array = np.asarray(delta)
    return float(array) if array.ndim == 0 else None


def _plain(found: float) -> str:
    return str(found) if isinstance(found, int) else f"{found:.6g}"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.2f} %"
