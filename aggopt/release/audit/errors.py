"""Errors that refuse a release that violates its requirements."""

from collections.abc import Sequence

from aggopt.core.plural import plural
from aggopt.errors import PrivacyError
from aggopt.privacy.requirement import Check
from aggopt.release.audit.bounds import BoundsCheck
from aggopt.release.audit.counts import Count
from aggopt.release.audit.risk_limits import RiskLimit


def make_identifiers_error(identifiers: Sequence[str]) -> PrivacyError:
    """Return the error of identifiers that were not dropped."""
    return PrivacyError(
        f"The release still has identifiers: {', '.join(identifiers)}.",
        fix="drop them; nothing was written.",
    )


def make_rare_combination_error(weakest: Count, k: int, scope: str) -> PrivacyError:
    """Return the error of a combination that fewer than k records share."""
    which = "quasi-identifiers"
    if scope == "blocks":
        which = f"the block {', '.join(map(repr, weakest.attributes))}"
    return PrivacyError(
        f"The rarest combination of {which} stands in "
        f"{plural(weakest.rarest, weakest.what)}, and k = {k} was promised.",
        fix="nothing was written; mask again, and report this if aggopt made "
        "the values.",
    )


def make_pseudonyms_error(weakest: Count, k: int) -> PrivacyError:
    """Return the error for pseudonyms that single out some units."""
    return PrivacyError(
        "Pseudonyms tell which records are of one unit: the rarest combination of a "
        f"unit's records is that of {plural(weakest.rarest, 'unit')}, and k = {k} was "
        "promised.",
        fix='nothing was written; set published = "drop" under [units].',
    )


def make_few_values_error(fewest: int, k: int) -> PrivacyError:
    """Return the error for a value from `fewest` records, fewer than k."""
    return PrivacyError(
        f"A published value is made from {plural(fewest, 'record')}: the others of its "
        f"group have none, and k = {k} was promised.",
        fix="nothing was written; mask again, and report this if aggopt made "
        "the values.",
    )


def make_requirement_error(check: Check | BoundsCheck | RiskLimit) -> PrivacyError:
    """Return the error of a requirement that does not hold, or of values beyond it."""
    if isinstance(check, RiskLimit):
        return PrivacyError(str(check), fix=f"nothing was written; {check.advice}.")
    if isinstance(check, BoundsCheck):
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
