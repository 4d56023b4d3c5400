"""The version of the package: metadata of an editable installation may be older."""

__version__ = "1.0.0"
