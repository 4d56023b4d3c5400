"""The sections that say what a quasi-identifier is, and how it is published."""

from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool

from aggopt.core.columns.values import REFUSE
from aggopt.core.section import Section, to_plain
from aggopt.encoding import AttributeType
from aggopt.encoding._arx import read_rows
from aggopt.errors import JobError
from aggopt.privacy._models.t_closeness import Value


def _tree(tree: Any) -> Any:
    return str(tree) if isinstance(tree, Path) else tree


def _plain_tree(tree: Any) -> Any:
    return None if tree is None else to_plain(tree)


class AttributeSection(Section):
    """What the values of one quasi-identifier are, and how they are published.

    Attributes
    ----------
    kind
        As `aggopt.encoding.AttributeType`; that of the order, the tree or the column's
        type when left out.
    order
        The levels from lowest to highest.
    tree
        Nested, the parent of each value, or the path of a hierarchy as ARX writes it,
        which a job file names from where it lies itself; or the lines of that file,
        each a list of its entries.
    publish
        "leaf": a level that some record has; of a tree "node", the nearest node, or
        "ancestor", the lowest one that is true of the whole group.
    weight
        By which its distances are multiplied when records are grouped.
    missing
        "refuse", or "own value": what is missing counts as one more level.  When left
        out, [missing] says what happens.
    lower, upper
        The least and the largest value that may be published of a number.
    integer
        Publish whole numbers.
    rare
        What happens to categories that fewer than k originals have: "avoid" publishes
        none of them, but the nearest that is frequent; "publish" does.  When left out
        they are published and counted, unless most entries are rare, which is refused.
    format
        How text spells dates, "%d.%m.%Y" for 22.09.1930; as ISO 8601 when left out.
    """

    kind: Literal["numeric", "date", "nominal", "ordinal", "hierarchical"] | None = None
    order: tuple[Value, ...] | None = Field(default=None, min_length=1)
    tree: Annotated[
        dict[str, Any] | str | list[list[str]] | None,
        BeforeValidator(_tree),
        AfterValidator(_plain_tree),
    ] = Field(default=None, min_length=1)
    publish: Literal["leaf", "node", "ancestor"] = "leaf"
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False, strict=True)
    missing: Literal["refuse", "own value"] | None = None
    lower: float | None = Field(default=None, allow_inf_nan=False, strict=True)
    upper: float | None = Field(default=None, allow_inf_nan=False, strict=True)
    integer: StrictBool = False
    rare: Literal["avoid", "publish"] | None = None
    format: str | None = None

    @property
    def bounded(self) -> bool:
        """Whether published values have a bound."""
        return self.lower is not None or self.upper is not None

    @property
    def limited(self) -> bool:
        """Whether published values are within bounds, or whole."""
        return self.bounded or self.integer

    @property
    def type(self) -> AttributeType:
        """What `aggopt.encode` is told of it; raises where that makes no sense."""
        order = None if self.order is None else list(self.order)
        missing = self.missing or REFUSE
        return AttributeType(
            self.kind, order, self.tree, None, self.weight, missing, self.format
        )

    def require(self) -> None:
        """Refuse what makes no sense together.

        Raises
        ------
        JobError
            As `AttributeType`; or nodes are to be published, and there is no tree; or
            bounds are of no number, or have no value between them.
        """
        self._require_limits()
        if self.type.kind != "hierarchical" and self.publish != "leaf":
            raise JobError(
                f'publish = "{self.publish}" needs a tree.',
                fix='give one, { lung = ["asthma", "flu"], heart = ["attack"] }, or '
                "leave publish out.",
            )

    def _require_limits(self) -> None:
        if self.limited and self.type.kind not in (None, "numeric"):
            raise JobError(
                f'lower, upper and integer are of numbers, not of "{self.type.kind}".',
                fix="leave them out.",
            )
        lower = -inf if self.lower is None else self.lower
        upper = inf if self.upper is None else self.upper
        if not lower < upper:
            raise JobError(
                f"lower = {lower:g} is not below upper = {upper:g}.",
                fix="write lower < upper, or leave one of them out.",
            )

    def contained(self) -> "AttributeSection":
        """Return it with the lines of its tree in place of the path of a file.

        Raises
        ------
        TableError
            The file cannot be read as a hierarchy.
        """
        if not isinstance(self.tree, str):
            return self
        return self.model_copy(update={"tree": read_rows(Path(self.tree))})

    def beside(self, folder: Path) -> "AttributeSection":
        """Return it with the path of a tree seen from a folder."""
        if not isinstance(self.tree, str):
            return self
        return self.model_copy(update={"tree": str(folder / self.tree)})
