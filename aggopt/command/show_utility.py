"""Print the utility of a release, and a comparison of releases."""

from typing import TYPE_CHECKING

from aggopt.command.console import print_line, print_table

if TYPE_CHECKING:
    from aggopt.measure.utility import Utility
    from aggopt.pipeline.review.compare_public import PublicComparison
    from aggopt.pipeline.review.comparison import ReleaseComparison

COMPARED_FIGURES = {
    "k": ("k", "d"),
    "smallest": ("smallest group", "d"),
    "il": ("information loss (IL)", ".2%"),
    "linkage": ("linked one to one", ".2%"),
    "pmse_ratio": ("pMSE, ratio to an independent table", ".3g"),
    "pmse_tree": ("pMSE, tree", ".4f"),
    "gap": ("largest gap", ".1e"),
}


def print_utility(utility: "Utility") -> None:
    """Print the utility of a release."""
    print_line(str(utility))


def print_releases(comparison: "ReleaseComparison | PublicComparison") -> None:
    """Print releases side by side, and the verdict on all of them."""
    rows = []
    for name, (label, form) in COMPARED_FIGURES.items():
        best = comparison.best.get(name, [])
        cells = []
        for release in comparison.figures:
            value = getattr(release, name)
            shown = "none" if value is None else format(value, form)
            cells.append(f"{shown} *" if release.file in best else shown)
        rows.append((label, *cells))
    header = ("figure", *(release.file for release in comparison.figures))
    title = "Releases side by side (* the better)"
    print_table(header, rows, title=title, right=range(1, len(header)))
    print_line(comparison.verdict, style=None if comparison.holds else "bold red")
    for note in comparison.notes:
        print_line(f"Note: {note}")
