"""Recoding of an attribute before anything is computed: its keys, cells and labels.

The order of the steps is fixed: `bottom` and `top`, then `round`, then `cuts`; or
`groups`.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import isfinite
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictFloat, StrictInt

from aggopt.core.plural import join_names
from aggopt.core.section import Section, to_plain
from aggopt.errors import JobError

MOST_CELLS = 1000  # levels of an order, whose distances are a matrix
NUMBERS = ("bottom", "top", "round", "cuts")  # keys that recode numbers
GROUPS = 'groups = { craft = ["smith", "turner"] }'


def _require_finite(value: float) -> float:
    """Return a number; refuse one that is infinite or no number."""
    if not isfinite(value):
        raise ValueError("write a finite number")
    return value


def _to_plain_or_unchanged(value: Any) -> Any:
    """Return NumPy's numbers and lists as plain ones; another value unchanged."""
    try:
        return to_plain(value)
    except ValueError:
        return value


Number = Annotated[
    StrictInt | StrictFloat,
    BeforeValidator(_to_plain_or_unchanged),
    AfterValidator(_require_finite),
]


class Recoding(Section):
    """The keys that recode an attribute before anything is computed.

    Attributes
    ----------
    cuts
        Each number becomes its cell, a level of an order: [18, 65] makes the cells
        "below 18", "18 to 64" and "65 and more".  Cuts with a decimal point make cells
        of decimals: [18.0, 65.0] has "18.0 to below 65.0".  With publish = "interval"
        they recode nothing: groups publish intervals between cuts, which enclose all
        values.
    bottom, top
        Smaller, or larger, numbers become this number.  With kind = "ordinal" and both,
        whole numbers become levels of an order, the last one "85 and more".
    round
        Each number becomes the nearest multiple of this one; a number halfway between
        two becomes the even multiple.
    groups
        Labels that become one label: { craft = ["smith", "turner"] }.
    """

    cuts: tuple[Number, ...] | None = Field(default=None, min_length=1)
    bottom: Number | None = None
    top: Number | None = None
    round: Number | None = None
    groups: dict[str, tuple[str | StrictInt, ...]] | None = Field(
        default=None, min_length=1
    )

    @property
    def number_keys(self) -> list[str]:
        """The keys that recode numbers, in the order of the steps."""
        keys = [key for key in NUMBERS if getattr(self, key) is not None]
        return keys if self.cell_cuts is not None else [k for k in keys if k != "cuts"]

    @property
    def cell_cuts(self) -> tuple[int | float, ...] | None:
        """The cuts that make cells; None if they are borders of published intervals."""
        return None if getattr(self, "publish", None) == "interval" else self.cuts

    @property
    def recodes_numbers(self) -> bool:
        """Whether the attribute is read as numbers, which are recoded."""
        return bool(self.number_keys)

    @property
    def stays_numeric(self) -> bool:
        """Whether recoded numbers are numbers."""
        return self.recodes_numbers and self.cells is None

    @property
    def is_recoded(self) -> bool:
        """Whether values are recoded before anything is computed."""
        return self.recodes_numbers or self.groups is not None

    @property
    def needs_whole_numbers(self) -> bool:
        """Whether only whole numbers have a cell."""
        if self.cell_cuts is None:
            return self.cells is not None and self.round is None
        return all(isinstance(cut, int) for cut in self.cell_cuts)

    @property
    def step(self) -> int | float:
        """The distance of two neighbouring numbers that become levels."""
        return 1 if self.round is None else self.round

    @property
    def cells(self) -> tuple[str, ...] | None:
        """Labels of the cells of numbers, lowest first; None if they stay numbers."""
        cuts = self.cell_cuts
        if cuts is not None:
            inner = (
                _label_cell(low, high, is_whole=self.needs_whole_numbers)
                for low, high in pairwise(cuts)
            )
            return (f"below {cuts[0]}", *inner, f"{cuts[-1]} and more")
        if getattr(self, "kind", None) != "ordinal" or not self.recodes_numbers:
            return None
        low, high = int(self.bottom or 0), int(self.top or 0)
        between = range(low + int(self.step), high, int(self.step))
        return (f"{low} and less", *map(str, between), f"{high} and more")

    @property
    def label_groups(self) -> dict[str, str]:
        """The group of each label in `groups`."""
        groups = self.groups or {}
        return {str(label): group for group in groups for label in groups[group]}

    def describe_recoding(self) -> Iterator[str]:
        """Yield a phrase on each step of the recoding, in the order of the steps."""
        if self.bottom is not None:
            yield f"numbers below {self.bottom} became {self.bottom}"
        if self.top is not None:
            yield f"numbers above {self.top} became {self.top}"
        if self.round is not None:
            yield f"numbers were rounded to multiples of {self.round}"
        if self.cell_cuts is not None:
            yield f"numbers became cells: {join_names(self.cells or (), 5)}"
        elif self.cells is not None:
            yield f"whole numbers became levels, the last {self.cells[-1]!r}"
        for group, labels in (self.groups or {}).items():
            yield f"{len(labels)} labels became {group!r}"

    def require_recoding(self) -> None:
        """Refuse recodings that contradict each other.

        Raises
        ------
        JobError
            Cuts do not increase; numbers and labels are recoded; bounds are in the
            wrong order, or no multiples of `round`; a label is in two groups.
        """
        if self.groups is not None:
            _require_groups(self.groups)
            if self.recodes_numbers:
                raise JobError(
                    f"groups merges labels, and {self.number_keys[0]} recodes numbers.",
                    fix="keep one of them; cuts of your choice make the cells.",
                )
        if self.cuts is not None:
            self._require_cuts()
        self._require_bounds()
        self._require_kind()

    def _require_cuts(self) -> None:
        """Refuse cuts that do not increase, or next to other recodings."""
        cuts = self.cuts or ()
        if not all(low < high for low, high in pairwise(cuts)):
            raise JobError(
                "cuts do not increase.",
                fix="name each once, lowest first: cuts = [0, 18, 25, 45, 65].",
            )
        if len(cuts) >= MOST_CELLS:
            raise JobError(
                f"{len(cuts)} cuts make more than {MOST_CELLS} cells.",
                fix="name fewer; or set round, by which numbers stay numbers.",
            )
        for key in self.number_keys:
            if key != "cuts" and self.cell_cuts is not None:
                raise JobError(
                    f"cuts and {key} are both given: the first and the last cell have "
                    "no other end.",
                    fix=f"leave {key} out, and choose other cuts.",
                )

    def _require_bounds(self) -> None:
        """Refuse bounds in the wrong order, and steps that are not positive."""
        bottom, top, step = self.bottom, self.top, self.round
        if bottom is not None and top is not None and not bottom < top:
            raise JobError(
                f"bottom = {bottom} is not below top = {top}.",
                fix="write bottom < top, or leave one of them out.",
            )
        if step is None:
            return
        if step <= 0:
            raise JobError(
                f"round = {step} is not above 0.",
                fix="write the distance of two values, such as round = 1000.",
            )
        for key, bound in (("bottom", bottom), ("top", top)):
            if bound is not None and abs(bound / step - round(bound / step)) > 1e-9:
                raise JobError(
                    f"{key} = {bound} is no multiple of round = {step}.",
                    fix=f"choose a {key} that is one.",
                )

    def _require_kind(self) -> None:
        """Refuse a kind, an order or a tree that the recoded values do not have."""
        kind, order = getattr(self, "kind", None), getattr(self, "order", None)
        if self.cell_cuts is not None and (kind not in (None, "ordinal") or order):
            raise JobError(
                f"cuts makes the levels of an order, and "
                f"{'order' if order else f'kind = {kind!r}'} is given.",
                fix="leave it out.",
            )
        if self.groups is not None and kind in ("numeric", "date"):
            raise JobError(
                f"groups merges labels, and kind = {kind!r} has none.",
                fix='leave one of them out, or write kind = "nominal".',
            )
        if self.recodes_numbers and self.cell_cuts is None:
            self._require_numbers(kind, order)
        merged = self.label_groups.keys() - (self.groups or {}).keys()
        left = merged & set(map(str, order or ()))
        if left:
            raise JobError(
                f"order names {len(left)} of the labels that groups merges.",
                fix="name their group in place of them.",
            )

    def _require_numbers(self, kind: str | None, order: Any) -> None:
        """Refuse bounds and steps of an attribute that does not stay numeric."""
        if kind == "ordinal" and not order:
            numbers = [self.bottom, self.top, self.step]
            if not all(isinstance(number, int) for number in numbers):
                raise JobError(
                    f'{self.number_keys[0]} with kind = "ordinal" makes levels of '
                    "whole numbers, from bottom to top, and one of these is not whole "
                    "or not given.",
                    fix='give both; or leave kind = "ordinal" out, by which numbers '
                    "stay numbers.",
                )
            if (self.top or 0) - (self.bottom or 0) > MOST_CELLS * self.step:
                raise JobError(
                    f"From bottom to top are more than {MOST_CELLS} levels.",
                    fix="set a larger round, or choose cuts.",
                )
        elif kind not in (None, "numeric") or order or getattr(self, "tree", None):
            raise JobError(
                f"{self.number_keys[0]} recodes numbers, and the attribute has an "
                "order, a tree or another kind.",
                fix="leave it out; groups merges labels.",
            )


def _label_cell(low: float, high: float, *, is_whole: bool) -> str:
    """Return the label of the cell between two cuts.

    >>> _label_cell(18, 25, is_whole=True), _label_cell(18, 19, is_whole=True)
    ('18 to 24', '18')
    >>> _label_cell(0.5, 1, is_whole=False)
    '0.5 to below 1'
    """
    if not is_whole:
        return f"{low} to below {high}"
    return f"{low}" if high - low == 1 else f"{low} to {high - 1}"


def _require_groups(groups: Mapping[str, tuple[str | int, ...]]) -> None:
    """Refuse an empty group, a label in two groups, and a group that is a label."""
    labels = [str(label) for members in groups.values() for label in members]
    empty = [name for name, members in groups.items() if not members or not name]
    if empty:
        raise JobError(
            "A group has no label, or no name.", fix=f"write {GROUPS}, or leave it out."
        )
    if len(labels) > len(set(labels)):
        raise JobError(
            "groups names a label twice.", fix="name each label in one group, once."
        )
    for group, members in groups.items():
        if group in labels and group not in map(str, members):
            raise JobError(
                f"{group!r} is a group, and a label in another one.",
                fix="give the group another name, or merge the two.",
            )
