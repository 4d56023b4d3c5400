"""Result of the audit of a release: its counts, whether they suffice, and its seal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from aggopt.core.html import (
    render_html_lines,
    render_html_list,
    render_html_seal,
    render_html_section,
)
from aggopt.core.plural import agree, is_or_are, plural
from aggopt.data.context.rare_categories import PublishedRareCategories
from aggopt.errors import PrivacyError
from aggopt.job import Privacy
from aggopt.privacy.requirement import Check
from aggopt.release.audit.bounds import BoundsCheck
from aggopt.release.audit.counts import Count, describe_small_groups
from aggopt.release.audit.missing import MissingChanges, MissingValues
from aggopt.release.audit.originals import Unchanged
from aggopt.release.audit.risk_limits import RiskLimit, check_linkage_limit
from aggopt.release.audit.unprotected_columns import (
    LinkingColumns,
    UnprotectedColumns,
)

GREEN = "green"
AMBER = "amber"
RED = "red"


@dataclass(frozen=True)
class Seal:
    """Summary of an audit.

    Attributes
    ----------
    state
        "green": the requirements hold.  "amber": they hold, but columns that others may
        know single records out.  "red": a requirement does not hold.
    heading
        The state in one line, with counts.
    risks
        The risks that the requirements leave open, each a sentence.
    advice
        Whether the file may be published, to the extent of this audit.
    """

    state: str
    heading: str
    risks: tuple[str, ...]
    advice: str


def make_seal(audit: "Audit") -> Seal:
    """Return the seal of an audit."""
    reason = explain_amber(audit)
    risks = (*open_risks(audit), *([audit.warning] if audit.warning else []))
    if not audit.holds:
        what = f"k = {audit.k}" if audit.smallest < audit.k else "What was promised"
        return Seal(RED, f"{what} does not hold", risks, "Do not publish this file.")
    heading = f"k = {audit.k} holds"
    if reason is not None:
        return Seal(AMBER, f"{heading}, but {reason}", risks, _choose_advice(audit))
    return Seal(
        GREEN,
        heading,
        risks,
        _choose_green_advice(audit),
    )


def _choose_green_advice(audit: "Audit") -> str:
    """Return that a file may be published, and what this relies on."""
    confidential = [each for each in audit.beside if not each.known]
    if any(each.count.rare for each in confidential):
        return (
            "The file may be published if the job is right that nobody else knows the "
            "confidential columns of a person."
        )
    return "As far as these requirements go, the file may be published."


def _choose_advice(audit: "Audit") -> str:
    """Return what to do where columns that others may know single records out."""
    gravest = _find_gravest(audit.beside)
    if gravest is None and audit.linking is not None:
        return (
            "Publish this file only if nobody can know all members of a unit: "
            "otherwise mask these columns as quasi-identifiers, recode them into few "
            "classes, or drop them."
        )
    if gravest is None and audit.scope == "keys":
        return (
            "Publish this file only if nobody can know columns of several of these "
            "sets of a person: otherwise put them into one table of keys, recode them, "
            "or drop those of all sets but one."
        )
    if gravest is None:
        return (
            "Publish this file only if nobody can know columns of several blocks of a "
            "person: otherwise mask them together, or drop those of all blocks but one."
        )
    return (
        "Publish this file only if nobody can know these columns of a person: "
        "otherwise mask them as quasi-identifiers, or drop them."
        f"{_count_unnamed(gravest)}"
    )


def _count_unnamed(unprotected: UnprotectedColumns) -> str:
    """Return a sentence on the number of columns without a name in the heading."""
    more = len(unprotected.columns) - len(unprotected.sufficient or unprotected.columns)
    if not more:
        return ""
    return (
        f" {plural(more, 'more column')} of the role other may single records out, "
        "too: recount after a change."
    )


def explain_amber(audit: "Audit") -> str | None:
    """Return the number that known columns single out, in words; None if none.

    These are columns with the role other, the records of a unit linked by pseudonyms or
    by a column with one value for each unit, and quasi-identifiers of different blocks.
    Strata and published weights need no further count: k covers them as well.
    """
    gravest = _find_gravest(audit.beside)
    if gravest is not None:
        return _count_exposed(gravest, audit.k)
    if audit.linking is not None:
        return audit.linking.describe(audit.k)
    if audit.warning is None:
        return None
    combination = audit.whole
    total = f"{combination.total:,} {combination.what}s"
    columns = f"with all {len(combination.attributes)} masked columns"
    if combination.unique:
        are_unique = f"{is_or_are(combination.unique)} unique"
        return f"{combination.unique:,} of {total} {are_unique} {columns}"
    small = describe_small_groups(combination.rare, audit.k)
    return f"{combination.rare:,} of {total} {small} {columns}"


def _find_gravest(counts: tuple[UnprotectedColumns, ...]) -> UnprotectedColumns | None:
    """Return the count of known columns with the most unique records, or None."""
    exposed = [columns for columns in counts if columns.known and columns.count.rare]
    return max(exposed, key=_compute_unique_share, default=None)


def _compute_unique_share(columns: UnprotectedColumns) -> tuple[float, float]:
    """Return the shares of records that are unique, and in groups smaller than k."""
    return (
        columns.count.unique / columns.count.total,
        columns.count.rare / columns.count.total,
    )


def _count_exposed(columns: UnprotectedColumns, k: int) -> str:
    """Return the text on the records that columns make unique, or rarer than k."""
    count = columns.count
    total = f"{columns.count.total:,} {columns.count.what}s"
    if count.unique:
        verb = is_or_are(count.unique)
        return f"{count.unique:,} of {total} {verb} unique with {columns.names}"
    small = describe_small_groups(count.rare, k)
    return f"{count.rare:,} of {total} {small} with {columns.names}"


def open_risks(audit: "Audit") -> Iterator[str]:
    """Yield the risks that the requirements leave open, in sentences."""
    public = {
        columns.count.what: columns.count for columns in audit.beside if columns.known
    }
    for columns in audit.beside:
        first = public.get(columns.count.what)
        nobody_left = first is not None and first.unique == first.total
        if not columns.known and not nobody_left:
            yield _with_confidential(columns, audit.k, also=first is not None)
    in_heading = _find_gravest(audit.beside) if audit.holds else None
    for columns in audit.beside:
        if not (columns.known and columns.count.rare):
            continue
        if columns is not in_heading:
            yield f"With {columns.names}, {columns.count.rarity(audit.k)}."
        elif columns.count.rare > columns.count.unique > 0:
            yield _describe_below_k(columns, audit.k)
    if audit.linking and (in_heading or not audit.holds):
        yield f"{audit.linking.describe(audit.k)}."
    if audit.unchanged and (sentence := audit.unchanged.describe(audit.records)):
        yield sentence


def _with_confidential(columns: UnprotectedColumns, k: int, *, also: bool) -> str:
    """Return a sentence on records that become unique with confidential columns."""
    count = columns.count
    total = f"{columns.count.total:,} {columns.count.what}s"
    premise = f"If somebody {'also ' if also else ''}knew {columns.names},"
    if count.unique:
        return f"{premise} {count.unique:,} of {total} would be unique."
    if count.rare:
        return (
            f"{premise} no {count.what} would be unique, and {count.rare:,} of {total} "
            f"would be in groups smaller than {k}."
        )
    return f"{premise} no {count.what} would be in a group smaller than {k}."


def _describe_below_k(columns: UnprotectedColumns, k: int) -> str:
    """Say how many are below k with columns that others may know."""
    count = columns.count
    amount = "all" if count.rare == count.total else f"{count.rare:,} of"
    small = describe_small_groups(count.rare, k)
    return f"With {columns.names}, {amount} {count.total:,} {count.what}s {small}."


@dataclass(frozen=True)
class Audit:
    """Results of the audit of the values of a release.

    Attributes
    ----------
    records
        Number of records.
    k, scope
        The requirement: k records share each combination of all quasi-identifiers
        ("combination"), or each of the attributes of a block ("blocks"), or each in a
        table of keys, and of the other attributes ("keys").
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
    impossible
        The note on whole numbers published as values that no record has, if any.
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
    linking
        Columns published unchanged that link the records of units, and expose some.
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
    impossible: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    weight: str | None = None
    linked: Count | None = None
    linking: LinkingColumns | None = None
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
        combinations = agree(self.groups, "combination", "combinations")
        what = f"{self.groups:,} published {combinations}, the rarest"
        if self.scope != "combination" and len(self.blocks) > 1:
            blocks = "sets" if self.scope == "keys" else "blocks"
            covers += [f" in each of {len(self.blocks)} {blocks} of attributes"]
            what = f"the rarest combination of a {blocks[:-1]}"
        holds = self._shared and not self.identifiers
        but = explain_amber(self) if self.holds else None
        of_k = (
            f"k = {self.k} {'holds' if holds else 'DOES NOT HOLD'}{','.join(covers)}"
            f"{f', but {but}' if but and self.beside else ''}: "
            f"{self.records:,} {agree(self.records, 'record', 'records')}, {what} in "
            f"{self.smallest:,} {self.whole.what}{agree(self.smallest, '', 's')}."
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
        block = "set of attributes" if self.scope == "keys" else "block"
        within = f" k holds within each {block} only." if self.holds else ""
        with_strata = " and strata" if self.strata else ""
        return (
            f"NOT {self.k}-anonymous on the combination of all "
            f"{len(self.whole.attributes)} quasi-identifiers{with_strata}: "
            f"{self.whole.rarity(self.k)}.{within}"
        )

    @property
    def with_missing(self) -> "Audit":
        """The audit with notes on missing values."""
        return replace(self, notes=(*self.notes, *self.missing_notes))

    @property
    def missing_notes(self) -> list[str]:
        """Notes on missing values, in counts."""
        if self.missing is None:
            return []
        shared = (
            "the combination of keys" if self.scope == "keys" else "what is missing"
        )
        return self.missing.list_notes(shared)

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
        notes = (*more, *impossible, *rest, *unchanged.notes())
        return replace(
            audit,
            unchanged=unchanged,
            disclosures=more,
            impossible=tuple(impossible),
            notes=notes,
        )

    def with_rare(self, rare: Mapping[str, PublishedRareCategories]) -> "Audit":
        """Return it with rare categories that are published, and a note on each."""
        counted = "units" if self.whole.what == "unit" else "originals"
        rare_notes = tuple(
            categories.describe(name, self.k, counted)
            for name, categories in rare.items()
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
    if scope != "combination":
        block = "keys" if scope == "keys" else "block"
        which = f"the {block} {', '.join(map(repr, weakest.attributes))}"
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
