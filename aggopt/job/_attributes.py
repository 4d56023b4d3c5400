"""The sections that say what a quasi-identifier is, and how it is published."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from aggopt.core.section import Section, plain
from aggopt.encoding import AttributeType
from aggopt.encoding._arx import read_rows
from aggopt.errors import JobError
from aggopt.privacy._models.t_closeness import Value
from aggopt.privacy._values import REFUSE


def _tree(tree: Any) -> Any:
    return str(tree) if isinstance(tree, Path) else tree


def _plain_tree(tree: Any) -> Any:
    return None if tree is None else plain(tree)


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

    @property
    def type(self) -> AttributeType:
        """What `aggopt.encode` is told of it; raises where that makes no sense."""
        order = None if self.order is None else list(self.order)
        missing = self.missing or REFUSE
        return AttributeType(self.kind, order, self.tree, None, self.weight, missing)

    def require(self) -> None:
        """Refuse what makes no sense together.

        Raises
        ------
        JobError
            As `AttributeType`; or nodes are to be published, and there is no tree.
        """
        if self.type.kind != "hierarchical" and self.publish != "leaf":
            raise JobError(
                f'publish = "{self.publish}" needs a tree.',
                fix='give one, { lung = ["asthma", "flu"], heart = ["attack"] }, or '
                "leave publish out.",
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
