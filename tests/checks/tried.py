"""How the tests of the laws try one law of one thing."""

from typing import Any

from aggopt.checks import Ending, Verdict, checks_of


def by(law: str, thing: Any) -> Verdict:
    """Return how the trial of a thing by the law of this name ends."""
    (trial,) = (trial for trial in checks_of(thing) if trial.law.name == law)
    return trial.verdict()


def caught(law: str, thing: Any) -> str:
    """Return what is said of a thing that breaks the law; fail if it does not."""
    verdict = by(law, thing)
    assert verdict.ending is Ending.BROKEN, str(verdict)
    assert verdict.why
    return verdict.why
