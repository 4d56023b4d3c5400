"""Missing values: patterns of them, and values imputed to group records by."""

from aggopt.missing._imputed import imputed
from aggopt.missing._patterns import Patterns, patterns

__all__ = ["Patterns", "imputed", "patterns"]
