"""Recount a release from its values, trusting nothing that made them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import narwhals.stable.v2 as nw

from aggopt.errors import PrivacyError
from aggopt.input.roles import Roles


@dataclass(frozen=True)
class Audit:
    """What was found in the values of a release.

    Attributes
    ----------
    records, groups
        Number of records, and of distinct combinations of quasi-identifiers.
    smallest
        Records that share the rarest combination.
    k
        What was promised: `smallest` must reach it.
    identifiers
        Identifiers, and wishes, that are still there; there must be none.
    notes
        What a data steward should look at; counts and names, no values.
    """

    records: int
    groups: int
    smallest: int
    k: int
    identifiers: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the promise holds."""
        return self.smallest >= self.k and not self.identifiers

    def require(self) -> None:
        """Refuse the release unless the promise holds.

        Raises
        ------
        PrivacyError
            A combination is too rare, or an identifier is still there.
        """
        if self.identifiers:
            raise PrivacyError(
                f"The release still has identifiers: {', '.join(self.identifiers)}.",
                fix="drop them; nothing was written.",
            )
        if self.smallest < self.k:
            raise PrivacyError(
                f"The rarest combination of quasi-identifiers stands in "
                f"{self.smallest} record(s), and k = {self.k} was promised.",
                fix="nothing was written; mask again, and report this if aggopt made "
                "the values.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "holds": self.holds}


def audit(released: Any, roles: Roles, k: int) -> Audit:
    """Return what is found in `released`, a pandas, Polars or PyArrow table.

    Entries are compared as they are, so that a table of text, read from the file
    that was written, is recounted as any reader of that file would.
    """
    frame = nw.from_native(released, eager_only=True)
    keys = list(roles.quasi_identifier)
    size = max([*frame.columns], key=len) + "#"  # a name that no column has
    counts = frame.group_by(keys).agg(nw.len().alias(size))
    sizes = counts[size]
    left = tuple(name for name in roles.dropped if name in frame.columns)
    return Audit(
        records=len(frame),
        groups=len(counts),
        smallest=int(sizes.min()),
        k=k,
        identifiers=left,
        notes=_telling(frame, roles.other),
    )


def _telling(frame: nw.DataFrame[Any], columns: Sequence[str]) -> tuple[str, ...]:
    """Name attributes without protection that tell every record apart."""
    return tuple(
        f"{name!r} (other) differs in every record: is it an identifier?"
        for name in columns
        if (frame[name].dtype == nw.String or frame[name].dtype.is_integer())
        and 1 < len(frame) == frame[name].n_unique()
    )
