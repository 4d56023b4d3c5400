"""What `aggopt utility` and `aggopt compare` print: names and figures."""

from typing import TYPE_CHECKING

from aggopt.command.console import line, table

if TYPE_CHECKING:
    from aggopt.measure.utility import Utility
    from aggopt.pipeline.review.compare_public import PublicComparison
    from aggopt.pipeline.review.comparison import ReleaseComparison

SHOWN = {
    "k": ("k", "d"),
    "smallest": ("smallest group", "d"),
    "il": ("information loss (IL)", ".2%"),
    "linkage": ("linked one to one", ".2%"),
    "pmse_ratio": ("pMSE, ratio to an independent table", ".3g"),
    "pmse_tree": ("pMSE, tree", ".4f"),
    "gap": ("largest gap", ".1e"),
}


def utility(found: "Utility") -> None:
    """Print what can still be learnt."""
    line(str(found))


def compared(found: "ReleaseComparison | PublicComparison") -> None:
    """Print releases side by side, and what they are together."""
    rows = []
    for name, (label, how) in SHOWN.items():
        best = found.best.get(name, [])
        cells = []
        for each in found.figures:
            value = getattr(each, name)
            shown = "none" if value is None else format(value, how)
            cells.append(f"{shown} *" if each.file in best else shown)
        rows.append((label, *cells))
    header = ("figure", *(each.file for each in found.figures))
    title = "Releases side by side (* the better)"
    table(header, rows, title=title, right=range(1, len(header)))
    line(found.verdict, style=None if found.holds else "bold red")
    for note in found.notes:
        line(f"Note: {note}")
