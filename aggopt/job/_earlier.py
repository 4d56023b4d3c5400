"""The section of a job that keeps the groups of an earlier release."""

from pathlib import Path
from typing import Any, Literal

from pydantic import PrivateAttr

from aggopt.core.regular import real_path
from aggopt.core.types import Labels
from aggopt.errors import JobError
from aggopt.partition._kept_groups import kept_groups
from aggopt.partition._registry import Partitioner
from aggopt.partition._shared.settings import TOGETHER, Grouping

KEPT = Partitioner(
    name="keep_groups",
    when="another release, or a later wave, in the groups of an earlier one",
    function=kept_groups,
    settings=Grouping,
)


class EarlierGroups(Grouping):
    """The groups that the private key of an earlier release has.

    Attributes
    ----------
    keep_groups
        The path of that key: NAME.private.csv.
    earlier, person
        Where the records are not the same in the same order: the table that the earlier
        release was made from, and the identifier that says in both who is who.
    """

    method: Literal["keep_groups"] = "keep_groups"
    keep_groups: str
    earlier: str | None = None
    person: str | None = None
    _labels: Labels | None = PrivateAttr(default=None)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the function: the earlier group of each record."""
        return {"labels": self._labels}

    @property
    def own(self) -> Any:
        """The method, which is none of those that make groups of a table alone."""
        return KEPT

    def require(self, k: int) -> None:
        """Refuse blocks of attributes, and half of what says who is who."""
        if self.attributes != TOGETHER:
            raise JobError(
                "[partition] keep_groups has one group for each record, and attributes "
                "asks for groups in blocks.",
                fix="leave attributes out.",
            )
        if (self.earlier is None) != (self.person is None):
            raise JobError(
                "[partition] names one of earlier and person, and who is who takes "
                "both.",
                fix="name the table that the earlier release was made from and the "
                "identifier that both tables have; or neither, for the same records "
                "in the same order.",
            )

    def beside(self, folder: Path) -> "EarlierGroups":
        """Return it with its paths seen from a folder."""
        paths = {"keep_groups": self.keep_groups, "earlier": self.earlier}
        seen = {n: str(real_path(folder / path)) for n, path in paths.items() if path}
        return self.model_copy(update=seen)

    def of_records(self, labels: Labels) -> "EarlierGroups":
        """Return it with the earlier group of each record (n,), -1 of new ones."""
        made = self.model_copy()
        made._labels = labels
        return made
