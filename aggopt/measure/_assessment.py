"""Results of all measures of one release, and their display."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from aggopt.core.html import html_lines
from aggopt.core.json_text import json_text
from aggopt.errors import require_known
from aggopt.measure._pil import PilParts
from aggopt.measure.registry import MEASURES, Heading, Measure
from aggopt.measure.types import TypedAssessment


@dataclass(frozen=True)
class Assessment:
    """Risk, loss and satisfaction of one release; printed, it is a table.

    If attributes are of any types, all of them count in each figure, with the distances
    of `aggopt.encode`.  Only `il1s` and `sl` cover the numbers alone, and are None if
    no number varies.

    Attributes
    ----------
    highest_risk, average_risk, reidentifications
        Chance that a record is re-identified in its group, and the expected number of
        re-identifications; lower is better.
    linkage, linkage_limit, linkage_chance, linkage_blocks
        Records linked by the best one-to-one assignment; the limit of any linkage; the
        share that a guess among the records that share known columns reaches; and the
        number of blocks of the assignment.  Lower is better.
    dld
        Records linked to the nearest; lower is better.
    sdid, sdid_chance
        Disclosed values, and their number by chance; lower is better.  For any types,
        the mean over attributes that vary.
    sse, sst, il, il1s
        Distances from the original to the released values; lower is better.
    pil, pil_parts
        Probabilistic information loss and its five parts, seven for any types; lower is
        better.
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
    types
        Loss and disclosure by attribute, and the change of tables of two attributes;
        None if all attributes are numbers.
    further
        Name and value of each measure of `MEASURES` that has no attribute here.
    own
        Name and value of each measure of the user's, in the order of `extra`.

    All but `reidentifications`, `sse` and `sst` are fractions, not percentages; `il`
    and `il1s` alone may exceed 1.  Each is defined at the function of its name in
    `aggopt.measure`.
    """

    highest_risk: float
    average_risk: float
    reidentifications: int
    linkage: float
    linkage_limit: float
    linkage_chance: float
    linkage_blocks: int
    dld: float
    sdid: float
    sdid_chance: float
    sse: float
    sst: float
    il: float
    il1s: float | None
    pil: float
    pil_parts: PilParts
    correlation_error: float | None
    mean_correlation_error: float | None
    dr: float
    si: float
    sl: float | None
    n: int
    d: int
    varying: int
    safety: float
    delta: float | None
    further: tuple[tuple[str, Any], ...] = ()
    types: TypedAssessment | None = None
    own: tuple[tuple[str, float], ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return the result of the measure of this name.

        `found.types["il"]` is `il` by attribute.

        Raises
        ------
        UnknownNameError
            No measure of `assess` has the name.
        """
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        known = {n: found[n] for n in found if n in MEASURES} | dict(self.further)
        known |= dict(self.own)
        require_known("measure of an assessment", name, known)
        return known[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; with `types` a map by attribute."""
        values = asdict(replace(self, types=None))
        del values["types"]
        own = dict(values.pop("own"))
        plain = values | dict(values.pop("further")) | ({"own": own} if own else {})
        return plain if self.types is None else plain | self.types.to_dict()

    def to_json(self) -> str:
        """Return all attributes as JSON text; null replaces what is not finite."""
        return json_text(self.to_dict())

    def __str__(self) -> str:
        """Return a table in plain text."""
        return self.table()

    def _repr_html_(self) -> str:
        """Return the printed table as HTML for a notebook."""
        return html_lines(str(self))

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
        if self.types is not None:
            lines += ["", self.types.by_attribute()]
            for heading, label, shown, says in self.types.rest():
                sections[heading].append((label, shown, says))
        for heading, rows in sections.items():
            lines += ["", heading.value] if rows else []
            lines += [f"  {name:<14}{v:>9}  {says}".rstrip() for name, v, says in rows]
        lines += ["", "Of your own"] if self.own else []
        lines += [f"  {name:<14}{_plain(value):>9}" for name, value in self.own]
        return "\n".join(lines)

    def _rows(self, measure: Measure) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and meaning of a measure, and of its parts below it."""
        found, says = self[measure.name], measure.says or (lambda _: measure.when)
        shown = _percent(found) if measure.percent else _plain(found)
        yield measure.label or measure.name, shown, says(self)
        for name, part in measure.parts(self) if measure.parts else ():
            yield f"  {name}", _percent(part), ""


def _plain(found: float | None) -> str:
    if found is None:
        return "none"
    return str(found) if isinstance(found, int) else f"{found:.6g}"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.2f} %"
