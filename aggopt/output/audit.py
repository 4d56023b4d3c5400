"""Recount a release from its values, trusting nothing that made them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw

from aggopt.errors import PrivacyError
from aggopt.html import lines, listed, titled
from aggopt.input.confidential import confidential_of
from aggopt.input.roles import Roles
from aggopt.job import Privacy
from aggopt.partition._blocks import require_cover
from aggopt.privacy import groups_of
from aggopt.privacy._promise import Kept
from aggopt.promises import kept


@dataclass(frozen=True)
class Count:
    """How often combinations of some attributes occur.

    Attributes
    ----------
    attributes
        Which they are.
    combinations
        How many distinct combinations there are.
    rarest
        Records that share the rarest of them.
    rare, unique
        Records whose combination fewer than k share, and no other record has.
    """

    attributes: tuple[str, ...]
    combinations: int
    rarest: int
    rare: int
    unique: int


@dataclass(frozen=True)
class Audit:
    """What was found in the values of a release.

    Attributes
    ----------
    records
        Number of records.
    k, scope
        What was promised: k records share each combination of all quasi-identifiers
        ("combination"), or each of the attributes of a block ("blocks").
    whole
        The combinations of all quasi-identifiers.
    blocks
        Those of each block of attributes that were microaggregated together.
    identifiers
        Identifiers, and wishes, that are still there; there must be none.
    promises
        What was promised of confidential attributes, l and t, and what was found.
    notes
        What a data steward should look at; counts and names, no values.
    """

    records: int
    k: int
    scope: str
    whole: Count
    blocks: tuple[Count, ...]
    identifiers: tuple[str, ...]
    promises: tuple[Kept, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        """Number of distinct combinations of all quasi-identifiers."""
        return self.whole.combinations

    @property
    def combination(self) -> int:
        """Records that share the rarest combination of all quasi-identifiers."""
        return self.whole.rarest

    @property
    def unique(self) -> int:
        """Records whose combination of all quasi-identifiers no other record has."""
        return self.whole.unique

    @property
    def smallest(self) -> int:
        """Records that share the rarest combination in the scope of the promise."""
        return self._rarest.rarest

    @property
    def _rarest(self) -> Count:
        if self.scope == "combination":
            return self.whole
        return min(self.blocks, key=lambda count: count.rarest)

    @property
    def holds(self) -> bool:
        """Whether all that was promised holds."""
        kept = all(promise.holds for promise in self.promises)
        return self.smallest >= self.k and kept and not self.identifiers

    @property
    def verdict(self) -> str:
        """Say whether the promise holds, with counts."""
        where, what = "", f"{self.groups} published combinations, the rarest"
        if self.scope == "blocks" and len(self.blocks) > 1:
            where = f" in each of {len(self.blocks)} blocks of attributes"
            what = "the rarest combination of a block"
        holds = self.smallest >= self.k and not self.identifiers
        of_k = (
            f"k = {self.k} {'holds' if holds else 'DOES NOT HOLD'}{where}: "
            f"{self.records} records, {what} in {self.smallest} records."
        )
        return "\n".join([of_k, *map(str, self.promises)])

    def _repr_html_(self) -> str:
        """Return the same, and the notes, for a notebook."""
        return titled("Audit", lines(str(self)), listed(self.notes))

    def __str__(self) -> str:
        """Return verdict and warning."""
        return "\n".join(filter(None, (self.verdict, self.warning)))

    @property
    def warning(self) -> str | None:
        """Say that the combination is not k-anonymous, if that was not promised."""
        if self.scope == "combination" or self.combination >= self.k:
            return None
        within = " k holds within each block only." if self.holds else ""
        return (
            f"NOT {self.k}-anonymous on the combination of all "
            f"{len(self.whole.attributes)} quasi-identifiers: {self.whole.rare} of "
            f"{self.records} records share theirs with fewer than {self.k - 1} others, "
            f"{self.unique} are alone with it.{within}"
        )

    def require(self) -> None:
        """Refuse the release unless the promise holds.

        Raises
        ------
        PrivacyError
            A combination is too rare, an identifier is still there, or confidential
            values are not as diverse, or not as close to the table's, as promised.
        """
        if self.identifiers:
            raise PrivacyError(
                f"The release still has identifiers: {', '.join(self.identifiers)}.",
                fix="drop them; nothing was written.",
            )
        if self.smallest < self.k:
            which = "quasi-identifiers"
            if self.scope == "blocks":
                which = f"the block {', '.join(map(repr, self._rarest.attributes))}"
            raise PrivacyError(
                f"The rarest combination of {which} stands in "
                f"{self.smallest} record(s), and k = {self.k} was promised.",
                fix="nothing was written; mask again, and report this if aggopt made "
                "the values.",
            )
        for promise in self.promises:
            if not promise.holds:
                raise _broken(promise)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        found = ("groups", "smallest", "combination", "unique", "holds")
        return asdict(self) | {name: getattr(self, name) for name in found}


def audit(
    released: Any,
    roles: Roles,
    privacy: Privacy,
    blocks: Sequence[Sequence[str]] | None = None,
    *,
    decimal: str = ".",
) -> Audit:
    """Return what is found in `released`, a pandas, Polars or PyArrow table.

    `blocks` are the quasi-identifiers that were microaggregated together; all of them
    when omitted.  Entries are compared as they are, so that a table of text, read from
    the file that was written, is recounted as any reader of that file would.  Groups
    are records equal in all quasi-identifiers, whatever made them; numbers among
    confidential text have this `decimal` point.

    Raises
    ------
    JobError
        A quasi-identifier is in no block, or in two.
    TableError
        Confidential values do not fit what the job says of them.
    """
    frame = nw.from_native(released, eager_only=True)
    everything = roles.quasi_identifier
    parts = [everything] if blocks is None else blocks
    require_cover(parts, everything, "quasi-identifier")
    held = confidential_of(frame, roles, privacy, decimal)
    published = groups_of(frame.select(*everything).to_native()) if held else None
    found = Audit(
        records=len(frame),
        k=privacy.k,
        scope=privacy.scope,
        whole=_counted(frame, everything, privacy.k),
        blocks=tuple(_counted(frame, part, privacy.k) for part in parts),
        identifiers=tuple(n for n in roles.dropped if n in frame.columns),
        promises=() if published is None else kept(held, privacy, published),
    )
    warning = (found.warning,) if found.warning else ()
    said = (note for each in held for note in each.notes)
    return replace(found, notes=(*warning, *said, *_telling(frame, roles.other)))


def _broken(promise: Kept) -> PrivacyError:
    close = promise.promise.startswith("t ")
    possible = (
        f"t of at least {promise.found:.6g}, rounded up"
        if close
        else f"l of at most {int(promise.found)}"
    )
    return PrivacyError(
        str(promise),
        fix='nothing was written; set repair = "merge" under [privacy], which keeps '
        f"every promise, or promise {possible}, which these groups keep.",
    )


def _counted(frame: nw.DataFrame[Any], attributes: Sequence[str], k: int) -> Count:
    size = max([*frame.columns], key=len) + "#"  # a name that no column has
    counts = frame.group_by(list(attributes)).agg(nw.len().alias(size))
    sizes = counts[size].to_numpy()
    return Count(
        attributes=tuple(attributes),
        combinations=len(sizes),
        rarest=int(sizes.min()),
        rare=int(sizes[sizes < k].sum()),
        unique=int((sizes == 1).sum()),
    )


def _telling(frame: nw.DataFrame[Any], columns: Sequence[str]) -> tuple[str, ...]:
    """Name attributes without protection that tell every record apart."""
    return tuple(
        f"{name!r} (other) differs in every record: is it an identifier?"
        for name in columns
        if (frame[name].dtype == nw.String or frame[name].dtype.is_integer())
        and 1 < len(frame) == frame[name].n_unique()
    )
