"""Reject a release that loses more than its job allows; note a very large loss."""

from aggopt.core.plural import plural
from aggopt.errors import PrivacyError
from aggopt.job.measures_section import Measures
from aggopt.measure import Assessment

NOTED = 0.8  # of the sum of squares: the rest tells little of single records
ADVICE = (
    "group fewer attributes together (attributes under [partition]), choose a smaller "
    "k, or another method; aggopt choose compares them"
)


def note_on_loss(measures: Assessment | None, asked: Measures) -> list[str]:
    """Return a note on a loss above 80 %, if the job sets no limit for it.

    Raises
    ------
    PrivacyError
        The loss is larger than the job allows, or could not be measured.
    """
    problem = excessive_loss(measures, asked)
    if problem is not None:
        way = "leave largest_loss out under [measures]" if measures is None else ADVICE
        raise PrivacyError(problem, fix=f"nothing was written; {way}.")
    if asked.largest_loss is not None or measures is None or measures.il <= NOTED:
        return []
    return [f"{_said(measures)}. To lose less: {ADVICE}."]


def excessive_loss(measures: Assessment | None, asked: Measures) -> str | None:
    """Return the reason why the loss may exceed the job's limit, or None."""
    limit = asked.largest_loss
    if limit is None:
        return None
    if measures is None:
        return (
            f"largest_loss = {limit:g} is asked for, and too few records are complete "
            "to measure the loss."
        )
    if measures.il <= limit:
        return None
    return f"{_said(measures)}, and largest_loss = {limit:g} allows {_percent(limit)}."


def _said(measures: Assessment) -> str:
    return (
        f"The release loses {_percent(measures.il)} of the sum of squares (IL) of "
        f"{plural(measures.n, 'record')}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
