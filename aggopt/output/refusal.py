"""Why a release is refused that does not keep what was promised."""

from collections.abc import Sequence

from aggopt.core.plural import many
from aggopt.errors import PrivacyError
from aggopt.output.counts import Count
from aggopt.output.risk_limits import RiskLimit
from aggopt.output.within import Within
from aggopt.privacy._requirement import Check


def still_there(identifiers: Sequence[str]) -> PrivacyError:
    """Return the error of identifiers that were not dropped."""
    return PrivacyError(
        f"The release still has identifiers: {', '.join(identifiers)}.",
        fix="drop them; nothing was written.",
    )


def too_rare(weakest: Count, k: int, scope: str) -> PrivacyError:
    """Return the error of a combination that fewer than k records share."""
    which = "quasi-identifiers"
    if scope == "blocks":
        which = f"the block {', '.join(map(repr, weakest.attributes))}"
    return PrivacyError(
        f"The rarest combination of {which} stands in "
        f"{many(weakest.rarest, weakest.what)}, and k = {k} was promised.",
        fix="nothing was written; mask again, and report this if aggopt made "
        "the values.",
    )


def told_apart(weakest: Count, k: int) -> PrivacyError:
    """Return the error of pseudonyms that tell some units apart."""
    return PrivacyError(
        "Pseudonyms tell which records are of one unit: the rarest combination of a "
        f"unit's records is that of {many(weakest.rarest, 'unit')}, and k = {k} was "
        "promised.",
        fix='nothing was written; set published = "drop" under [units].',
    )


def too_few(least: int, k: int) -> PrivacyError:
    """Return the error of a value that stands for `least` records, fewer than k."""
    return PrivacyError(
        f"A published value is made from {many(least, 'record')}: the others of its "
        f"group have none, and k = {k} was promised.",
        fix="nothing was written; mask again, and report this if aggopt made "
        "the values.",
    )


def not_kept(check: Check | Within | RiskLimit) -> PrivacyError:
    """Return the error of a requirement that does not hold, or of values beyond it."""
    if isinstance(check, RiskLimit):
        return PrivacyError(str(check), fix=f"nothing was written; {check.advice}.")
    if isinstance(check, Within):
        return PrivacyError(
            str(check),
            fix="nothing was written; name an aggregation that keeps bounds, such as "
            '"mean" or "p3m", where yours does not, and report this if aggopt made the '
            "values.",
        )
    less = f"promise {check.keeps}, which these groups keep"
    return PrivacyError(
        str(check),
        fix='nothing was written; set repair = "merge" under [privacy], or '
        f"{less if check.keeps else 'ask less of it'}. Where a repair is set: groups "
        "that publish the same values count as one, so publish more digits.",
    )
