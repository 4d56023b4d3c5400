"""The pool of unassigned records, shared by fixed-size partitioners."""
