"""Microaggregation as a transformer of scikit-learn."""

from aggopt.sklearn._microaggregator import Microaggregator, expected_failed_checks

__all__ = ["Microaggregator", "expected_failed_checks"]
