"""Results of a comparison of several releases: one by one, and together."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isclose
from typing import Any

from aggopt.core.plural import plural
from aggopt.release.audit.changes import Changes
from aggopt.release.audit.counts import Count

LOWER = ("il", "linkage", "pmse_ratio", "pmse_tree", "gap")  # is better
Figure = float | None


@dataclass(frozen=True)
class ReleaseFigures:
    """Figures of one release; None if not measured, or without a bound.

    Attributes
    ----------
    k, smallest
        The required k, and the number of records with the rarest combination.
    il, linkage
        As `aggopt.measure.assess` has them.
    pmse_ratio, pmse_tree
        As `aggopt.measure.utility` has them, of the masked attributes.
    gap
        The largest of its certificates.
    """

    file: str
    k: int
    smallest: int
    il: Figure
    linkage: Figure
    pmse_ratio: Figure
    pmse_tree: Figure
    gap: Figure


@dataclass(frozen=True)
class PairOfWaves:
    """What two waves, the releases in these files, show of few people."""

    files: tuple[str, str]
    changes: Changes


@dataclass(frozen=True)
class ReleaseComparison:
    """Releases of the same people, side by side and together.

    Attributes
    ----------
    figures
        Of each release.
    together
        How many records share their group in all releases, of all that any release
        has: one that leaves some out has them in a group of their own.  `rare` are
        those that share it with fewer than `k`.
    k
        The smallest that a release was made with.
    keys
        Columns that all releases publish and that differ in every record, so that they
        link the releases.
    partly
        How many records some releases have, and others leave out.
    common
        The same as `together` of the records that all releases have; None where these
        are all, or none.
    changes
        For releases of several tables: people who are new, gone or changed between each
        two of them, by group.
    """

    figures: tuple[ReleaseFigures, ...]
    together: Count
    k: int
    keys: tuple[str, ...]
    partly: int = 0
    common: Count | None = None
    changes: tuple[PairOfWaves, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all releases together keep k: common groups, and changes.

        And whether none or k of each group changed their values between two waves.
        """
        return self._keeps_common_groups and all(
            change.changes.holds for change in self.changes
        )

    @property
    def _keeps_common_groups(self) -> bool:
        """Whether each common group of all releases has k records or more."""
        return self.together.rarest >= self.k

    @property
    def best(self) -> dict[str, list[str]]:
        """The files with the best value of each figure, if not all are equal."""
        return find_best(self.figures)

    @property
    def verdict(self) -> str:
        """The text on whether all releases together keep k."""
        verb = "leaves" if self.holds else "DOES NOT LEAVE"
        together = self.together
        text = (
            f"Publishing {name_releases(self.figures)} {verb} k = {self.k}: the "
            f"smallest group that they have in common is of "
            f"{plural(together.rarest, together.what)}"
        )
        if not self._keeps_common_groups:
            text += f"; {together.rarity(self.k)}"
        return f"{text}.{self._omission_verdict}{''.join(self._change_verdicts)}"

    @property
    def _change_verdicts(self) -> Iterator[str]:
        """Texts on small counts of changes between each two waves."""
        for change in self.changes:
            yield f" {' and '.join(change.files)}: {change.changes.verdict}"

    @property
    def _omission_verdict(self) -> str:
        """The text on records that some releases leave out; empty if none."""
        if not self.partly:
            return ""
        are = "is" if self.partly == 1 else "are"
        sentence = (
            f" {plural(self.partly, 'record')} {are} left out of some of them: what "
            "the others say tells who is left in a group, and is counted."
        )
        if self.common is None:
            return sentence
        rarest = plural(self.common.rarest, self.common.what)
        return (
            f"{sentence} Of those that are in all of them, the smallest is of {rarest}."
        )

    @property
    def notes(self) -> list[str]:
        """Texts of notes on the columns that link the releases."""
        return [
            f"{name!r} differs in every record of all releases: it says which records "
            "are of one person."
            for name in self.keys
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, ready for JSON."""
        return {
            "releases": [asdict(change) for change in self.figures],
            "together": asdict(self.together),
            "k": self.k,
            "partly": self.partly,
            "common": None if self.common is None else asdict(self.common),
            "changes": [
                {"files": list(change.files), **change.changes.to_dict()}
                for change in self.changes
            ],
            "holds": self.holds,
            "best": self.best,
            "notes": self.notes,
        }


def name_releases(figures: Sequence[ReleaseFigures]) -> str:
    """Return the text "both releases", or "all 3 releases"."""
    return "both releases" if len(figures) == 2 else f"all {len(figures)} releases"


def find_best(figures: Sequence[ReleaseFigures]) -> dict[str, list[str]]:
    """Return the files with the best value of each figure, by name of the figure."""
    best = {"k": _find_best_at(figures, "k", max)}
    best |= {name: _find_best_at(figures, name, min) for name in LOWER}
    return {name: files for name, files in best.items() if files}


def _find_best_at(figures: Sequence[ReleaseFigures], name: str, best: Any) -> list[str]:
    """Return the files with the best figure; none if all are equal or unknown."""
    pairs = [(figure.file, getattr(figure, name)) for figure in figures]
    values = [value for _, value in pairs if value is not None]
    if len(values) < 2:
        return []
    leads = [v is not None and isclose(v, best(values)) for _, v in pairs]
    if all(leads):
        return []
    return [file for (file, _), lead in zip(pairs, leads, strict=True) if lead]
