"""What an audit found in a release: whether the promise holds, in words and counts."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from aggopt.core.html import html_lines, html_list, html_seal, html_section
from aggopt.core.plural import plural
from aggopt.data.context.rare_categories import PublishedRareCategories
from aggopt.errors import PrivacyError
from aggopt.job import Privacy
from aggopt.privacy._requirement import Check
from aggopt.release.audit.bounds import BoundsCheck
from aggopt.release.audit.counts import Count
from aggopt.release.audit.errors import (
    few_values_error,
    identifiers_error,
    pseudonyms_error,
    rare_combination_error,
    requirement_error,
)
from aggopt.release.audit.missing import MissingValues
from aggopt.release.audit.risk_limits import RiskLimit, linkage_limit
from aggopt.release.audit.seal import Seal, amber_reason, make_seal, open_risks
from aggopt.release.audit.unchanged import Unchanged
from aggopt.release.audit.unprotected_columns import UnprotectedColumns


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
        The combinations of all quasi-identifiers, with those columns that are strata.
    blocks
        Those of each block of attributes that were grouped together, with the strata.
    identifiers
        Identifiers, and wishes, that are still there; there must be none.
    promises, within
        What was promised of confidential attributes, l, t, ..., and asked of numbers,
        bounds, and what was found.
    limits
        The risks that are to be at most so large, and what was found.
    beside
        The combinations of all quasi-identifiers with columns that are published as
        they are, which no requirement covers: those that others may know, and then the
        confidential ones, too; of records, and of units that pseudonyms tell.
    unchanged
        What is published unchanged, and what is of groups whose originals are
        identical; None where the originals are not at hand.
    missing
        Values of quasi-identifiers that are missing; None where none is.
    notes
        What a data steward should look at; counts and names, no values.
    disclosures
        Those of them, the first ones, that tell what persons may lose.
    strata
        The columns of strata: published as they are, and counted in each combination.
    weight
        That of published sampling weights, which are counted, too; None without.
    rare
        Published categories that fewer than k originals have, by attribute; none
        where the originals are not at hand.
    linked
        Units by what their records have together, where pseudonyms tell which records
        are of one; else None.
    """

    records: int
    k: int
    scope: str
    whole: Count
    blocks: tuple[Count, ...]
    identifiers: tuple[str, ...]
    within: tuple[BoundsCheck, ...] = ()
    promises: tuple[Check, ...] = ()
    limits: tuple[RiskLimit, ...] = ()
    beside: tuple[UnprotectedColumns, ...] = ()
    unchanged: Unchanged | None = None
    missing: MissingValues | None = None
    notes: tuple[str, ...] = ()
    disclosures: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    weight: str | None = None
    linked: Count | None = None
    rare: Mapping[str, PublishedRareCategories] = field(
        default_factory=dict, hash=False
    )

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
        return self.weakest.rarest

    @property
    def weakest(self) -> Count:
        """The count in the scope of the promise whose rarest combination is rarest."""
        if self.scope == "combination":
            return self.whole
        return min(self.blocks, key=lambda count: count.rarest)

    @property
    def holds(self) -> bool:
        """Whether all that was promised holds."""
        kept = self._shared and not self.identifiers
        return kept and all(check.holds for check in self.checks)

    @property
    def checks(self) -> tuple[Check | BoundsCheck | RiskLimit, ...]:
        """What was promised beside k, and what was found."""
        return (*self.promises, *self.within, *self.limits)

    @property
    def _shared(self) -> bool:
        """Whether k records share each combination, and stand behind each value."""
        known = self.linked is None or self.linked.rarest >= self.k
        return self.smallest >= self.k and self._too_few is None and known

    @property
    def _too_few(self) -> int | None:
        """How many records stand behind a value, if fewer than k do behind some."""
        least = self.missing.least if self.missing else None
        return None if least is None or least >= self.k else least

    @property
    def verdict(self) -> str:
        """Say whether the promise holds, and what it does not cover, with counts."""
        covers = [" on the masked attributes"] if self.beside else []
        within = [f" within strata of {', '.join(map(repr, self.strata))}"]
        covers += within if self.strata else []
        covers += [f" with the weights {self.weight!r}"] if self.weight else []
        what = f"{plural(self.groups, 'published combination')}, the rarest"
        if self.scope == "blocks" and len(self.blocks) > 1:
            covers += [f" in each of {len(self.blocks)} blocks of attributes"]
            what = "the rarest combination of a block"
        holds = self._shared and not self.identifiers
        but = amber_reason(self) if self.holds else None
        of_k = (
            f"k = {self.k} {'holds' if holds else 'DOES NOT HOLD'}{','.join(covers)}"
            f"{f', but {but}' if but and self.beside else ''}: "
            f"{plural(self.records, 'record')}, {what} in "
            f"{plural(self.smallest, self.whole.what)}."
        )
        return "\n".join([" ".join([of_k, *self._open]), *map(str, self.checks)])

    @property
    def _open(self) -> Iterator[str]:
        """Yield what pseudonyms tell, and what the promise does not cover."""
        if self.linked:
            yield (
                "Pseudonyms tell which records are of one unit; what these have "
                f"together is that of {plural(self.linked.rarest, 'unit')} at least."
            )
        yield from open_risks(self)

    @property
    def seal(self) -> Seal:
        """Green, amber or red, and the risks that remain, in sentences."""
        return make_seal(self)

    def _repr_html_(self) -> str:
        """Return the same, and the notes, for a notebook."""
        seal = html_seal(self.seal.state, self.seal.heading)
        return html_section("Audit", seal, html_lines(str(self)), html_list(self.notes))

    def __str__(self) -> str:
        """Return verdict and warning."""
        return "\n".join(filter(None, (self.verdict, self.warning)))

    @property
    def warning(self) -> str | None:
        """Say that the combination is not k-anonymous, if that was not promised."""
        if self.scope == "combination" or self.combination >= self.k:
            return None
        within = " k holds within each block only." if self.holds else ""
        with_strata = " and strata" if self.strata else ""
        return (
            f"NOT {self.k}-anonymous on the combination of all "
            f"{len(self.whole.attributes)} quasi-identifiers{with_strata}: "
            f"{self.whole.rarity(self.k)}.{within}"
        )

    @property
    def _with_missing(self) -> "Audit":
        """It with what is to be said of values that are missing."""
        said = self.missing.notes if self.missing else []
        return replace(self, notes=(*self.notes, *said))

    def with_rare(self, rare: Mapping[str, PublishedRareCategories]) -> "Audit":
        """Return it with rare categories that are published, and a note on each."""
        said = tuple(each.said(name, self.k) for name, each in rare.items())
        first, notes = (*said, *self.disclosures), (*said, *self.notes)
        return replace(self, rare=rare, disclosures=first, notes=notes)

    def with_linkage(self, privacy: Privacy, found: float | None) -> "Audit":
        """Return it with the linkage, if the job limits it; as `linkage_limit`."""
        return replace(self, limits=(*self.limits, *linkage_limit(privacy, found)))

    def require(self) -> None:
        """Refuse the release unless the promise holds.

        Raises
        ------
        PrivacyError
            A combination is too rare, an identifier is still there, or values do not
            satisfy what was promised of them.
        """
        if self.refusal:
            raise self.refusal

    @property
    def refusal(self) -> PrivacyError | None:
        """What is raised where the promise does not hold, else None."""
        if self.identifiers:
            return identifiers_error(self.identifiers)
        if self.smallest < self.k:
            return rare_combination_error(self.weakest, self.k, self.scope)
        if self.linked and self.linked.rarest < self.k:
            return pseudonyms_error(self.linked, self.k)
        if self._too_few is not None:
            return few_values_error(self._too_few, self.k)
        broken = [check for check in self.checks if not check.holds]
        return requirement_error(broken[0]) if broken else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        found = ("groups", "smallest", "combination", "unique", "holds")
        counts = {name: getattr(self, name) for name in found}
        return asdict(self) | counts | {"seal": asdict(self.seal)}
