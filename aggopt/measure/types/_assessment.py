"""What a release loses and discloses by attribute, and as a whole."""

from dataclasses import asdict, dataclass, field
from typing import Any

from aggopt.core.html import html_lines, text_table
from aggopt.core.json_text import json_text
from aggopt.core.plural import plural
from aggopt.errors import require_known
from aggopt.measure._interval import checked_safety
from aggopt.measure._linkage import WHOLE, checked_whole, linked
from aggopt.measure._registry import Heading, TypedComparison
from aggopt.measure._reidentification import average_of, highest_of, sizes_of
from aggopt.measure._typed_pair import Types
from aggopt.measure.types._registry import TYPED, Figure, TypedMeasure


@dataclass(frozen=True)
class TypedAssessment:
    """Risk and loss of one release, attributes of any types; printed, it is a table.

    `found["dld"]` is what the measure of that name in `aggopt.measure.types.TYPED`
    found; `found["kappa"]` is a map by attribute.

    Attributes
    ----------
    highest_risk, average_risk, reidentifications
        As of `aggopt.measure.assess`: by the sizes of groups that are released alike.
    linkage_limit, linkage_blocks
        What no linkage exceeds, and in how many blocks it was sought.
    n, d, varying
        Numbers of records, of attributes, and of those that vary in the original.
    safety
        The argument of `assess_types`.
    kinds
        What each attribute is, by name.
    of_attributes, of_table
        What each measure found, by its name; None where it is not defined.
    """

    highest_risk: float
    average_risk: float
    reidentifications: int
    linkage_limit: float
    linkage_blocks: int
    n: int
    d: int
    varying: int
    safety: float
    kinds: dict[str, str] = field(hash=False)
    of_attributes: dict[str, dict[str, Figure]] = field(hash=False, repr=False)
    of_table: dict[str, Figure] = field(hash=False)

    @classmethod
    def of(cls, tables: TypedComparison) -> "TypedAssessment":
        """Return what the measures of typed attributes find of a comparison."""
        pair, linkage = tables.typed, tables.once(linked)
        sizes = sizes_of(tables.pair)
        return cls(
            highest_risk=highest_of(sizes),
            average_risk=average_of(sizes),
            reidentifications=len(sizes),
            linkage_limit=linkage.limit,
            linkage_blocks=linkage.blocks,
            n=pair.n,
            d=len(pair.attributes),
            varying=len(pair.varying),
            safety=float(tables.safety),
            kinds={each.of.name: each.of.kind for each in pair.attributes},
            of_attributes={
                n: tables.typed_weighed.each(m.each) for n, m in TYPED.items() if m.each
            },
            of_table={n: m.whole(tables) for n, m in TYPED.items() if m.whole},
        )

    def __getitem__(self, name: str) -> Any:
        """Return what the measure of this name found.

        Raises
        ------
        UnknownNameError
            There is none.
        """
        known = {**self.of_attributes, **self.of_table}
        require_known("measure of an assessment", name, known)
        return known[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: a map for each attribute."""
        plain = asdict(self)
        kinds, each = plain.pop("kinds"), plain.pop("of_attributes")
        figures = {
            name: {"kind": kind, **{m: each[m][name] for m in each}}
            for name, kind in kinds.items()
        }
        return {**plain.pop("of_table"), **plain, "attributes": figures}

    def to_json(self) -> str:
        """Return the same as JSON text; null stands for what is not defined."""
        return json_text(self.to_dict())

    def by_attribute(self) -> str:
        """Return tables in plain text, with a row for each attribute: loss, then risk.

        Two, for a terminal is not wide.
        """
        return "\n\n".join(map(self._table, (Heading.LOSS, Heading.RISK)))

    def _table(self, heading: Heading) -> str:
        found = {TYPED[name]: each for name, each in self.of_attributes.items()}
        shown = {m: each for m, each in found.items() if m.heading is heading}
        rows = [
            [name, kind, *(m.shown(each[name]) for m, each in shown.items())]
            for name, kind in self.kinds.items()
        ]
        return text_table(["Attribute", "kind", *(m.label for m in shown)], rows)

    def rest(self) -> list[tuple[Heading, str, str, str]]:
        """Return what an `Assessment` has not: heading, label, figure and meaning."""
        return [
            (measure.heading, measure.label, measure.shown(figure), measure.when)
            for measure, figure in self._figures()
            if measure.heading is not None
        ]

    def __str__(self) -> str:
        """Return a table in plain text: a row for each attribute, then the whole."""
        found = [
            f"  {label:<14}{value:>9}  {says}".rstrip()
            for label, value, says in self._whole()
        ]
        head = f"Records: {self.n}. Attributes: {self.d}, {self.varying} of them vary."
        return "\n".join([head, "", self.by_attribute(), "", *found])

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        return html_lines(str(self))

    def _whole(self) -> list[tuple[str, str, str]]:
        groups = f"{plural(self.reidentifications, 'group')} / records"
        return [
            ("highest risk", f"{100 * self.highest_risk:.2f} %", "1 / smallest group"),
            ("average risk", f"{100 * self.average_risk:.2f} %", groups),
            *((m.label, m.shown(f), self._says(m)) for m, f in self._figures()),
        ]

    def _figures(self) -> list[tuple[TypedMeasure, float]]:
        """Return the measures of the table that are defined, with what they found."""
        found = [(TYPED[name], figure) for name, figure in self.of_table.items()]
        return [(measure, figure) for measure, figure in found if figure is not None]

    def _says(self, measure: TypedMeasure) -> str:
        if measure.name != "linkage":
            return measure.when
        by = f" in {self.linkage_blocks} blocks" if self.linkage_blocks > 1 else ""
        return f"{measure.when}{by}; at most {100 * self.linkage_limit:.2f} %"


def assess_types(
    original: Any,
    released: Any,
    attributes: Types = None,
    *,
    safety: float = 0.05,
    whole: int = WHOLE,
    known: Any = None,
    units: Any = None,
) -> TypedAssessment:
    """Return what a release loses and discloses, by attribute, of any types.

    `aggopt.measure.assess` has it as `types`, beside the figures of the literature.

    Parameters
    ----------
    original
        The quasi-identifiers: a table, or what `aggopt.encode` made of it.
    released
        The same records and columns as they are released, with levels, or nodes of
        their trees, in place of levels.
    attributes
        As in `aggopt.encode`; None of what is encoded.
    safety, whole
        As in `aggopt.measure.types.sdid` and `linkage`.
    known, units
        As in `aggopt.measure.assess`.

    Raises
    ------
    JobError
        safety or whole cannot be used; attributes are given of what is encoded, or as
        in `aggopt.encode`.
    TableError
        As in `aggopt.encode`; or the release has other records, columns or types than
        the original, or what stands neither in an order nor in a tree: how many.
    InfeasibleInputError
        There is not enough memory.

    Source: each at the function of its name.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 30, 60, 70], "sex": list("ffmm")})
    >>> released = pd.DataFrame({"age": [25, 25, 65, 65], "sex": list("ffmm")})
    >>> found = assess_types(people, released)
    >>> found["dld"], found["unchanged"]
    (0.5, {'age': 0.0, 'sex': 1.0})
    """
    width, most = checked_safety(safety), checked_whole(whole)
    tables = TypedComparison.of(
        original,
        released,
        attributes,
        safety=width,
        whole=most,
        known=known,
        units=units,
    )
    return TypedAssessment.of(tables)
