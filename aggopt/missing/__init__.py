"""Missing values: patterns of them, and values imputed to group records by."""

from aggopt.missing.attribute_patterns import Patterns, patterns
from aggopt.missing.imputation import imputed

__all__ = ["Patterns", "imputed", "patterns"]
