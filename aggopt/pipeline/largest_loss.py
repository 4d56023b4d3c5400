"""Whether a release loses more than its job allows, or than most can use."""

from aggopt.core.plural import many
from aggopt.errors import PrivacyError
from aggopt.job._measures import Measures
from aggopt.measure import Assessment

NOTED = 0.8  # of the sum of squares: what is left says little of single records
ADVICE = (
    "group fewer attributes together (attributes under [partition]), choose a smaller "
    "k, or another method; aggopt choose compares them"
)


def large_loss(measures: Assessment | None, asked: Measures) -> list[str]:
    """Return a note on a loss above 80 %, if the job says nothing of it.

    Raises
    ------
    PrivacyError
        The loss is larger than the job allows, or could not be measured.
    """
    limit = asked.largest_loss
    if limit is None:
        if measures is None or measures.il <= NOTED:
            return []
        return [f"{_said(measures)}. To lose less: {ADVICE}."]
    if measures is None:
        raise PrivacyError(
            f"largest_loss = {limit:g} is asked for, and too few records are complete "
            "to measure the loss.",
            fix="nothing was written; leave largest_loss out under [measures].",
        )
    if measures.il > limit:
        raise PrivacyError(
            f"{_said(measures)}, and largest_loss = {limit:g} allows "
            f"{_percent(limit)}.",
            fix=f"nothing was written; {ADVICE}.",
        )
    return []


def _said(measures: Assessment) -> str:
    return (
        f"The release loses {_percent(measures.il)} of the sum of squares (IL) of "
        f"{many(measures.n, 'record')}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
