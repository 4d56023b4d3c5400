"""Why a release is refused that does not keep what was promised."""

from typing import TYPE_CHECKING

from aggopt.errors import PrivacyError
from aggopt.privacy._promise import Kept

if TYPE_CHECKING:
    from aggopt.output.audit import Audit


def refusal(audit: "Audit") -> PrivacyError | None:
    """Return the error of an audit that does not hold, or None."""
    if audit.identifiers:
        return PrivacyError(
            f"The release still has identifiers: {', '.join(audit.identifiers)}.",
            fix="drop them; nothing was written.",
        )
    if audit.smallest < audit.k:
        which = "quasi-identifiers"
        if audit.scope == "blocks":
            which = f"the block {', '.join(map(repr, audit.weakest.attributes))}"
        return PrivacyError(
            f"The rarest combination of {which} stands in "
            f"{audit.smallest} record(s), and k = {audit.k} was promised.",
            fix="nothing was written; mask again, and report this if aggopt made "
            "the values.",
        )
    broken = [promise for promise in audit.promises if not promise.holds]
    return _broken(broken[0]) if broken else None


def _broken(promise: Kept) -> PrivacyError:
    close = promise.promise.startswith("t ")
    possible = (
        f"t of at least {promise.found:.6g}, rounded up"
        if close
        else f"l of at most {int(promise.found)}"
    )
    return PrivacyError(
        str(promise),
        fix='nothing was written; set repair = "merge" under [privacy], which keeps '
        f"every promise, or promise {possible}, which these groups keep.",
    )
