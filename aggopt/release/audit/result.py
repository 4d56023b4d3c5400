"""Result of the audit of a release: whether it meets its requirements, and counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from aggopt.core.html import (
    render_html_lines,
    render_html_list,
    render_html_seal,
    render_html_section,
)
from aggopt.core.plural import plural
from aggopt.data.context.rare_categories import PublishedRareCategories
from aggopt.errors import PrivacyError
from aggopt.job import Privacy
from aggopt.privacy.requirement import Check
from aggopt.release.audit.bounds import BoundsCheck
from aggopt.release.audit.counts import Count
from aggopt.release.audit.missing import MissingChanges, MissingValues
from aggopt.release.audit.risk_limits import RiskLimit, check_linkage_limit
from aggopt.release.audit.seal import Seal, explain_amber, make_seal, open_risks
from aggopt.release.audit.unchanged import Unchanged
from aggopt.release.audit.unprotected_columns import UnprotectedColumns


@dataclass(frozen=True)
class Audit:
    """Results of the audit of the values of a release.

    Attributes
    ----------
    records
        Number of records.
    k, scope
        The requirement: k records share each combination of all quasi-identifiers
        ("combination"), or each of the attributes of a block ("blocks").
    whole
        The combinations of all quasi-identifiers, including the strata columns.
    blocks
        The combinations of each block of attributes grouped together, with the strata.
    identifiers
        Identifiers, and distance requests, that are still present; it must be empty.
    promises, within
        The requirements on confidential attributes, l, t, ..., and on numbers, bounds,
        and their results.
    limits
        The risks with a maximum, and their results.
    beside
        The combinations of all quasi-identifiers with columns published unchanged,
        which no requirement covers: first with columns that others may know, and then
        with the confidential ones, too; of records, and of units that pseudonyms
        identify.
    unchanged
        Values published unchanged, and values of groups whose originals are identical;
        None without the originals.
    missing
        Missing values of quasi-identifiers; None if none is.
    notes
        Remarks for a data steward; counts and names, no values.
    disclosures
        The first of the notes, on possible losses of persons.
    strata
        The columns of strata: published unchanged, and counted in each combination.
    weight
        The column of published sampling weights, also counted; None without.
    rare
        Published categories that fewer than k originals have, by attribute; none
        without the originals.
    linked
        Units by the combinations of all their records, if pseudonyms link the records
        of a unit; else None.
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
        is_satisfied = self._shared and not self.identifiers
        return is_satisfied and all(check.holds for check in self.checks)

    @property
    def checks(self) -> tuple[Check | BoundsCheck | RiskLimit, ...]:
        """Requirements in addition to k, and their results."""
        return (*self.promises, *self.within, *self.limits)

    @property
    def _shared(self) -> bool:
        """Whether k records share each combination, and contribute to each value."""
        is_linked_safely = self.linked is None or self.linked.rarest >= self.k
        return self.smallest >= self.k and self._too_few is None and is_linked_safely

    @property
    def _too_few(self) -> int | None:
        """Number of records behind a value, if some value has fewer than k."""
        fewest = self.missing.least if self.missing else None
        return None if fewest is None or fewest >= self.k else fewest

    @property
    def verdict(self) -> str:
        """Whether the requirements hold, and the open risks, in words."""
        covers = [" on the masked attributes"] if self.beside else []
        within = [f" within strata of {', '.join(map(repr, self.strata))}"]
        covers += within if self.strata else []
        covers += [f" with the weights {self.weight!r}"] if self.weight else []
        what = f"{plural(self.groups, 'published combination')}, the rarest"
        if self.scope == "blocks" and len(self.blocks) > 1:
            covers += [f" in each of {len(self.blocks)} blocks of attributes"]
            what = "the rarest combination of a block"
        holds = self._shared and not self.identifiers
        but = explain_amber(self) if self.holds else None
        of_k = (
            f"k = {self.k} {'holds' if holds else 'DOES NOT HOLD'}{','.join(covers)}"
            f"{f', but {but}' if but and self.beside else ''}: "
            f"{plural(self.records, 'record')}, {what} in "
            f"{plural(self.smallest, self.whole.what)}."
        )
        return "\n".join([" ".join([of_k, *self._open]), *map(str, self.checks)])

    @property
    def _open(self) -> Iterator[str]:
        """Yield the risks of pseudonyms, and of columns without protection."""
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
        """Return the verdict and the notes, for a notebook."""
        seal = render_html_seal(self.seal.state, self.seal.heading)
        return render_html_section(
            "Audit", seal, render_html_lines(str(self)), render_html_list(self.notes)
        )

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
    def with_missing(self) -> "Audit":
        """The audit with notes on missing values."""
        notes = self.missing.notes if self.missing else []
        return replace(self, notes=(*self.notes, *notes))

    def with_originals(
        self,
        names: Sequence[str],
        changes: MissingChanges,
        unchanged: Unchanged,
        dominated: Sequence[str] = (),
        impossible: Sequence[str] = (),
    ) -> "Audit":
        """Return it with the counts of a comparison to the originals, and notes.

        `names` are the quasi-identifiers; `dominated` and `impossible` are notes of
        `Originals.notes`.
        """
        missing = changes.add_to(self.missing, names)
        audit = replace(self, missing=missing).with_missing
        more = *self.disclosures, *dominated, *unchanged.disclosures(self.records)
        rest = [note for note in audit.notes if note not in self.disclosures]
        notes = (*more, *rest, *unchanged.notes(), *impossible)
        return replace(audit, unchanged=unchanged, disclosures=more, notes=notes)

    def with_rare(self, rare: Mapping[str, PublishedRareCategories]) -> "Audit":
        """Return it with rare categories that are published, and a note on each."""
        rare_notes = tuple(
            categories.describe(name, self.k) for name, categories in rare.items()
        )
        first = (*rare_notes, *self.disclosures)
        notes = (*rare_notes, *self.notes)
        return replace(self, rare=rare, disclosures=first, notes=notes)

    def with_linkage(self, privacy: Privacy, linkage: float | None) -> "Audit":
        """Return it with the linkage, if the job limits it; as `linkage_limit`."""
        return replace(
            self, limits=(*self.limits, *check_linkage_limit(privacy, linkage))
        )

    def require(self) -> None:
        """Refuse the release unless the requirements hold.

        Raises
        ------
        PrivacyError
            A combination is too rare, an identifier is still present, or values violate
            a requirement.
        """
        if self.refusal:
            raise self.refusal

    @property
    def refusal(self) -> PrivacyError | None:
        """Error to raise if the requirements do not hold, else None."""
        if self.identifiers:
            return make_identifiers_error(self.identifiers)
        if self.smallest < self.k:
            return make_rare_combination_error(self.weakest, self.k, self.scope)
        if self.linked and self.linked.rarest < self.k:
            return make_pseudonyms_error(self.linked, self.k)
        if self._too_few is not None:
            return make_few_values_error(self._too_few, self.k)
        broken = [check for check in self.checks if not check.holds]
        return make_requirement_error(broken[0]) if broken else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        names = ("groups", "smallest", "combination", "unique", "holds")
        counts = {name: getattr(self, name) for name in names}
        return asdict(self) | counts | {"seal": asdict(self.seal)}


def make_identifiers_error(identifiers: Sequence[str]) -> PrivacyError:
    """Return the error of identifiers that were not dropped."""
    return PrivacyError(
        f"The release still has identifiers: {', '.join(identifiers)}.",
        fix="drop them; nothing was written.",
    )


def make_rare_combination_error(weakest: Count, k: int, scope: str) -> PrivacyError:
    """Return the error of a combination that fewer than k records share."""
    which = "quasi-identifiers"
    if scope == "blocks":
        which = f"the block {', '.join(map(repr, weakest.attributes))}"
    return PrivacyError(
        f"The rarest combination of {which} stands in "
        f"{plural(weakest.rarest, weakest.what)}, and k = {k} was promised.",
        fix="nothing was written; mask again, and report this if aggopt made "
        "the values.",
    )


def make_pseudonyms_error(weakest: Count, k: int) -> PrivacyError:
    """Return the error for pseudonyms that single out some units."""
    return PrivacyError(
        "Pseudonyms tell which records are of one unit: the rarest combination of a "
        f"unit's records is that of {plural(weakest.rarest, 'unit')}, and k = {k} was "
        "promised.",
        fix='nothing was written; set published = "drop" under [units].',
    )


def make_few_values_error(fewest: int, k: int) -> PrivacyError:
    """Return the error for a value from `fewest` records, fewer than k."""
    return PrivacyError(
        f"A published value is made from {plural(fewest, 'record')}: the others of its "
        f"group have none, and k = {k} was promised.",
        fix="nothing was written; mask again, and report this if aggopt made "
        "the values.",
    )


def make_requirement_error(check: Check | BoundsCheck | RiskLimit) -> PrivacyError:
    """Return the error of a requirement that does not hold, or of values beyond it."""
    if isinstance(check, RiskLimit):
        return PrivacyError(str(check), fix=f"nothing was written; {check.advice}.")
    if isinstance(check, BoundsCheck):
        return PrivacyError(
            str(check),
            fix="nothing was written; name an aggregation that keeps bounds, such as "
            '"mean" or "p3m", where yours does not, and report this if aggopt made the '
            "values.",
        )
    less = f"promise {check.keeps}, which these groups keep"
    return PrivacyError(
        str(check),
        fix='nothing was written; set repair = "merge" under [privacy], or '
        f"{less if check.keeps else 'ask less of it'}. Where a repair is set: groups "
        "that publish the same values count as one, so publish more digits.",
    )
