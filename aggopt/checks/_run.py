"""Selection of the laws that a thing must keep, and their trials."""

from collections.abc import Callable, Iterator
from typing import Any

from aggopt.checks._kinds import subjects_of
from aggopt.checks.law import Ending, Trial, Verdict
from aggopt.errors import require_known


def checks_of(thing: Any) -> Iterator[Trial]:
    """Yield the trial of each law that a thing must keep.

    Parameters
    ----------
    thing
        A model, partitioner, aggregator, solver, measure, privacy model or repair: one
        of this package's objects of these kinds; or a function of your own, identified
        by the names of its first arguments: (X, k) partitions, (X, labels) aggregates,
        (X, labels, k) repairs, (original, released) measures, (model, data) solves,
        (values) is a privacy model.  `functools.partial` of one has settings.  A thing
        may have an attribute `excused`, a dict: by the name of a law that it does not
        keep, the reason.

    Raises
    ------
    JobError
        No laws exist for it; or an exception is declared without a reason.
    UnknownNameError
        An exception is declared to an unknown law.

    Examples
    --------
    >>> from aggopt.partition import mdav
    >>> trial = next(checks_of(mdav))
    >>> trial.law.name
    'groups_have_k_records'
    >>> trial().ending.value
    'kept'
    """
    for kind, subject, laws in subjects_of(thing):
        names = {law.name: law for law in laws}
        for excuse in subject.excused:
            require_known(f"law of {kind}", excuse, names)
        for law in laws:
            yield Trial(law, subject.name, subject.excused.get(law.name), subject)


def report(thing: Any) -> Iterator[Verdict]:
    """Yield how each trial of a thing ended; a broken law stops none of the others.

    Arguments and errors as `checks_of`.

    Examples
    --------
    >>> def halves(X, k):
    ...     return [0 if i < len(X) // 2 else 1 for i in range(len(X))]
    >>> first = next(report(halves))
    >>> print(first)
    halves, groups_have_k_records: broken: n is k: a group of 2 records, k = 4
    """
    for trial in checks_of(thing):
        yield trial.verdict()


def parametrize_with_checks(*things: Any) -> Any:
    """Return the decorator that makes a pytest test of each law of each thing.

    The test takes an argument `check`, and calls it.  A thing that a law does not
    apply to is skipped, and an excused one is an expected failure, both with their
    reasons.

    >>> from aggopt.partition import mdav
    >>> @parametrize_with_checks(mdav)
    ... def test_laws(check):
    ...     check()
    """
    import pytest

    trials = [trial for thing in things for trial in checks_of(thing)]
    tests = [_under_pytest(trial) for trial in trials]
    return pytest.mark.parametrize("check", tests, ids=[str(t) for t in trials])


def _under_pytest(trial: Trial) -> Callable[[], None]:
    import pytest

    def tried() -> None:
        verdict = trial()
        if verdict.ending is Ending.NOT_TRIED:
            pytest.skip(verdict.why)
        if verdict.ending is Ending.EXCUSED:
            pytest.xfail(verdict.why)

    return tried
