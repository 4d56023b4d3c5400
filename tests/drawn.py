"""How many examples Hypothesis draws of a law: all of them where mutants are sought."""

from math import ceil

from hypothesis import Phase, settings


def examples(most: int) -> settings:
    """Return settings for `most` examples under `make mutants`, else for a third.

    Other runs draw other examples each time; mutants get the same ones, all of them.
    """
    among_mutants = Phase.shrink not in settings.default.phases
    count = most if among_mutants else ceil(most / 3)
    return settings(max_examples=count, deadline=None)
