"""What was found of several releases of one table: side by side, and together."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isclose
from typing import Any

from aggopt.core.plural import many
from aggopt.output.counts import Count

LOWER = ("il", "linkage", "pmse_ratio", "pmse_tree", "gap")  # is better
SAME = 1e-9  # share that a sum in another order may differ by
Figure = float | None


@dataclass(frozen=True)
class Figures:
    """What one release is like; None of what was not measured, or has no bound.

    Attributes
    ----------
    k, smallest
        What was asked, and the records that share the rarest combination.
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
class ReleasesCompared:
    """Releases of the same people, side by side and together.

    Attributes
    ----------
    figures
        Of each release.
    together
        How many records share their group in all releases; `rare` are those that share
        it with fewer than `k`.
    k
        The smallest that a release was made with.
    keys
        Columns that all releases publish and that differ in every record: whoever has
        the files puts the releases together by them.
    """

    figures: tuple[Figures, ...]
    together: Count
    k: int
    keys: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether k records share each group of all releases together."""
        return self.together.rarest >= self.k

    @property
    def best(self) -> dict[str, list[str]]:
        """Which files have the best of each figure, if they are not all alike."""
        found = {"k": _at(self.figures, "k", max)}
        found |= {name: _at(self.figures, name, min) for name in LOWER}
        return {name: files for name, files in found.items() if files}

    @property
    def verdict(self) -> str:
        """Say what publishing all of them leaves."""
        held = "leaves" if self.holds else "DOES NOT LEAVE"
        found, alone = self.together, self.together.unique
        said = (
            f"Publishing all {len(self.figures)} releases {held} k = {self.k}: the "
            f"smallest group that they have in common is of "
            f"{many(found.rarest, found.what)}"
        )
        if self.holds:
            return f"{said}."
        rare = many(found.rare, found.what)
        return f"{said}, {rare} are in such of fewer than {self.k}, {alone} alone."

    @property
    def notes(self) -> list[str]:
        """Say by what the releases are put together, if by anything."""
        return [
            f"{name!r} differs in every record of all releases: it says which records "
            "are of one person."
            for name in self.keys
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "releases": [asdict(each) for each in self.figures],
            "together": asdict(self.together),
            "k": self.k,
            "holds": self.holds,
            "best": self.best,
            "notes": self.notes,
        }


def _at(figures: Sequence[Figures], name: str, best: Any) -> list[str]:
    """Return the files with the best figure; none where all have the same, or none."""
    pairs = [(each.file, getattr(each, name)) for each in figures]
    known = [value for _, value in pairs if value is not None]
    if len(known) < 2:
        return []
    leads = [v is not None and isclose(v, best(known), rel_tol=SAME) for _, v in pairs]
    if all(leads):
        return []
    return [file for (file, _), lead in zip(pairs, leads, strict=True) if lead]
