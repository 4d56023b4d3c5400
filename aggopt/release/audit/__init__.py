"""The recount of a release from the values that are written."""
