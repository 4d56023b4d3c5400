"""Loss and disclosure of a release by attribute, and as a whole."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from math import fsum
from typing import Any, NamedTuple

from aggopt.core.html import render_html_lines, render_text_table
from aggopt.core.plural import plural
from aggopt.core.text_formats import format_json
from aggopt.encoding.attribute_type import NUMERIC
from aggopt.errors import require_known
from aggopt.measure._interval import check_safety
from aggopt.measure._linkage import WHOLE, check_whole, get_linkage
from aggopt.measure._reidentification import (
    average_of,
    compute_group_sizes,
    find_highest_risk,
)
from aggopt.measure._typed_pair import Types
from aggopt.measure.registry import (
    TYPED,
    Figure,
    Heading,
    TypedComparison,
    TypedMeasure,
)


class KindMeans(NamedTuple):
    """Means of a figure over the numbers and over the categories that vary.

    A mean is None if no such attribute varies.
    """

    numbers: float | None
    categories: float | None


def means_by_kind(measures: Mapping[str, Any], name: str) -> KindMeans:
    """Return the means of a figure over numbers and over categories that vary.

    `measures` are plain, as in `Assessment.to_dict`.  Without a map by attribute, all
    attributes are numbers, and the figure of all is theirs.

    Examples
    --------
    >>> age = {"kind": "numeric", "varies": True, "il": 0.25}
    >>> sex = {"kind": "nominal", "varies": True, "il": 0.5}
    >>> means_by_kind({"il": 0.375, "attributes": {"age": age, "sex": sex}}, "il")
    KindMeans(numbers=0.25, categories=0.5)
    """
    if "attributes" not in measures:
        return KindMeans(float(measures[name]), None)
    numbers = list[float]()
    categories = list[float]()
    for attribute in measures["attributes"].values():
        if attribute["varies"]:
            attributes = numbers if attribute["kind"] in NUMERIC else categories
            attributes.append(float(attribute[name]))
    return KindMeans(*map(_mean_or_none, (numbers, categories)))


def _mean_or_none(figures: list[float]) -> float | None:
    return fsum(figures) / len(figures) if figures else None


@dataclass(frozen=True)
class TypedAssessment:
    """Risk and loss of one release, attributes of any types; printed, it is a table.

    `found["dld"]` is the result of the measure "dld" of `aggopt.measure.types.TYPED`;
    `found["kappa"]` is a map by attribute.

    Attributes
    ----------
    highest_risk, average_risk, reidentifications
        As in `aggopt.measure.assess`: by the sizes of groups that are released alike.
    linkage_limit, linkage_blocks
        Limit of any linkage, and the number of blocks of the assignment.
    n, d, varying
        Numbers of records, of attributes, and of those that vary in the original.
    safety
        The argument of `assess_types`.
    kinds, varies
        Type of each attribute, and whether it varies in the original, by name.
    of_attributes, of_table
        Result of each measure, by its name; None if it is not defined.
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
    varies: dict[str, bool] = field(hash=False, repr=False)
    of_attributes: dict[str, dict[str, Figure]] = field(hash=False, repr=False)
    of_table: dict[str, Figure] = field(hash=False)

    @classmethod
    def of(cls, tables: TypedComparison) -> "TypedAssessment":
        """Return the results of the measures of typed attributes for a comparison."""
        pair = tables.typed
        linkage = tables.once(get_linkage)
        sizes = compute_group_sizes(tables.pair)
        return cls(
            highest_risk=find_highest_risk(sizes),
            average_risk=average_of(sizes),
            reidentifications=len(sizes),
            linkage_limit=linkage.limit,
            linkage_blocks=linkage.blocks,
            n=pair.n,
            d=len(pair.attributes),
            varying=len(pair.varying),
            safety=float(tables.safety),
            kinds={one.of.name: one.of.kind for one in pair.attributes},
            varies={one.of.name: one.varies for one in pair.attributes},
            of_attributes={
                n: tables.typed_weighed.by_attribute(m.by_attribute)
                for n, m in TYPED.items()
                if m.by_attribute
            },
            of_table=dict(_compute_figures_of_table(tables)),
        )

    def __getitem__(self, name: str) -> Any:
        """Return the result of the measure of this name.

        Raises
        ------
        UnknownNameError
            No measure has that name.
        """
        results = {**self.of_attributes, **self.of_table}
        require_known("measure of an assessment", name, results)
        return results[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: a map for each attribute."""
        plain = asdict(self)
        kinds = plain.pop("kinds")
        varies = plain.pop("varies")
        by_attribute = plain.pop("of_attributes")
        figures = {
            name: {
                "kind": kind,
                "varies": varies[name],
                **{m: by_attribute[m][name] for m in by_attribute},
            }
            for name, kind in kinds.items()
        }
        return {**plain.pop("of_table"), **plain, "attributes": figures}

    def to_json(self) -> str:
        """Return all attributes as JSON text; null replaces undefined figures."""
        return format_json(self.to_dict())

    def by_attribute(self) -> str:
        """Return tables in plain text, with a row for each attribute: loss, then risk.

        Two, for a terminal is not wide.
        """
        return "\n\n".join(map(self._make_table, (Heading.LOSS, Heading.RISK)))

    def _make_table(self, heading: Heading) -> str:
        by_measure = {
            TYPED[name]: figures for name, figures in self.of_attributes.items()
        }
        shown = {
            m: figures for m, figures in by_measure.items() if m.heading is heading
        }
        rows = [
            [name, kind, *(m.shown(figures[name]) for m, figures in shown.items())]
            for name, kind in self.kinds.items()
        ]
        return render_text_table(["Attribute", "kind", *(m.label for m in shown)], rows)

    def rest(self) -> list[tuple[Heading, str, str, str]]:
        """Return rows missing in an `Assessment`: heading, label, figure, meaning."""
        return [
            (measure.heading, measure.label, measure.shown(figure), measure.when)
            for measure, figure in self._figures()
            if measure.heading is not None
        ]

    def __str__(self) -> str:
        """Return a table in plain text: a row for each attribute, then the whole."""
        lines = [
            f"  {label:<14}{value:>9}  {says}".rstrip()
            for label, value, says in self._list_table_rows()
        ]
        head = f"Records: {self.n}. Attributes: {self.d}, {self.varying} of them vary."
        return "\n".join([head, "", self.by_attribute(), "", *lines])

    def _repr_html_(self) -> str:
        """Return the printed table as HTML for a notebook."""
        return render_html_lines(str(self))

    def _list_table_rows(self) -> list[tuple[str, str, str]]:
        groups = f"{plural(self.reidentifications, 'group')} / records"
        return [
            ("highest risk", f"{100 * self.highest_risk:.2f} %", "1 / smallest group"),
            ("average risk", f"{100 * self.average_risk:.2f} %", groups),
            *((m.label, m.shown(f), self._describe(m)) for m, f in self._figures()),
        ]

    def _figures(self) -> list[tuple[TypedMeasure, float]]:
        """Return the measures of the table that are defined, with their results."""
        figures = [(TYPED[name], figure) for name, figure in self.of_table.items()]
        return [(measure, figure) for measure, figure in figures if figure is not None]

    def _describe(self, measure: TypedMeasure) -> str:
        if measure.name != "linkage":
            return measure.when
        by = f" in {self.linkage_blocks} blocks" if self.linkage_blocks > 1 else ""
        return f"{measure.when}{by}; at most {100 * self.linkage_limit:.2f} %"


def _compute_figures_of_table(
    tables: TypedComparison,
) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of each measure of all attributes together."""
    for name, measure in TYPED.items():
        if measure.of_table is None:
            continue
        figure = measure.of_table(tables)
        if figure is not None or not measure.optional:
            yield name, figure


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
    """Return the loss and disclosure of a release, by attribute, of any types.

    `aggopt.measure.assess` has it as `types`, in addition to the published figures.

    Parameters
    ----------
    original
        The quasi-identifiers: a table, or the result of `aggopt.encode` for it.
    released
        The released table, with equal records and columns; it has levels, or nodes of
        their trees, in place of levels.
    attributes
        As in `aggopt.encode`; None for an encoded table.
    safety, whole
        As in `aggopt.measure.types.sdid` and `linkage`.
    known, units
        As in `aggopt.measure.assess`.

    Raises
    ------
    JobError
        safety or whole cannot be used; attributes are given for an encoded table, or as
        in `aggopt.encode`.
    TableError
        As in `aggopt.encode`.  Or the release has other records, columns or types than
        the original, or values outside the order or the tree; their number is given.
    InfeasibleInputError
        The memory does not suffice.

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
    width = check_safety(safety)
    largest = check_whole(whole)
    tables = TypedComparison.of(
        original,
        released,
        attributes,
        safety=width,
        whole=largest,
        known=known,
        units=units,
    )
    return TypedAssessment.of(tables)
