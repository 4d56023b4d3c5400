"""Sections on the type of a quasi-identifier, and on its published values."""

from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool

from aggopt.core.columns import REFUSE
from aggopt.core.section import Section, to_plain
from aggopt.encoding import AttributeType
from aggopt.encoding.arx import read_rows
from aggopt.errors import JobError
from aggopt.privacy.models.t_closeness import Value


def _to_text_path(tree: Any) -> Any:
    return str(tree) if isinstance(tree, Path) else tree


def _to_plain_tree(tree: Any) -> Any:
    return None if tree is None else to_plain(tree)


class AttributeSection(Section):
    """The type of one quasi-identifier, and the form of its published values.

    Attributes
    ----------
    kind
        As `aggopt.encoding.AttributeType`; inferred from the order, the tree or the
        column's type when left out.
    order
        The levels from lowest to highest.
    tree
        Nested, the parent of each value, or the path of a hierarchy as ARX writes it,
        relative to the job file; or the lines of that file, each a list of its entries.
    publish
        "leaf": a level that some record has; of a tree "node", the nearest node, or
        "ancestor", the lowest one that is true of the whole group.
    weight
        Factor of its distances when records are grouped.
    missing
        "refuse", or "own value": missing entries count as one additional level.  When
        left out, [missing] applies.
    lower, upper
        The least and the largest published value of a number.
    integer
        Publish whole numbers.
    rare
        Treatment of categories that fewer than k originals have: "avoid" publishes the
        nearest frequent category instead; "publish" publishes them.  When left out they
        are published and counted, unless most entries are rare, which is refused.
    format
        Format of dates in text, "%d.%m.%Y" for 22.09.1930; as ISO 8601 when left out.
    """

    kind: Literal["numeric", "date", "nominal", "ordinal", "hierarchical"] | None = None
    order: tuple[Value, ...] | None = Field(default=None, min_length=1)
    tree: Annotated[
        dict[str, Any] | str | list[list[str]] | None,
        BeforeValidator(_to_text_path),
        AfterValidator(_to_plain_tree),
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
        """Its arguments for `aggopt.encode`; raises if they conflict."""
        order = None if self.order is None else list(self.order)
        missing = self.missing or REFUSE
        return AttributeType(
            self.kind, order, self.tree, None, self.weight, missing, self.format
        )

    def require(self) -> None:
        """Refuse settings that contradict each other.

        Raises
        ------
        JobError
            As `AttributeType`; or nodes are to be published without a tree; or bounds
            apply to an attribute that is not a number, or have no value between them.
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

    def load_contents(self) -> "AttributeSection":
        """Return it with the lines of its tree in place of the path of a file.

        Raises
        ------
        TableError
            The file cannot be read as a hierarchy.
        """
        if not isinstance(self.tree, str):
            return self
        return self.model_copy(update={"tree": read_rows(Path(self.tree))})

    def resolve_from(self, folder: Path) -> "AttributeSection":
        """Return it with the path of a tree seen from a folder."""
        if not isinstance(self.tree, str):
            return self
        return self.model_copy(update={"tree": str(folder / self.tree)})
