"""The measures of a release: of all its quasi-identifiers, whatever their types."""

from dataclasses import replace
from typing import Any

from aggopt.core.validation import Floats
from aggopt.input.table import Table
from aggopt.measure import WHOLE, Assessment, assess

AT_ONCE = 1000  # records that are linked at once where a release is only tried: .1 s


def measured_if_any(
    original: Table, released: Table, asked: dict[str, Floats]
) -> Assessment | None:
    """Return the measures of a release; None where no quasi-identifier varies."""
    X = original.matrix()
    return None if (X[0] == X).all() else measured(original, released, asked)


def measured(
    original: Table,
    released: Table,
    asked: dict[str, Floats],
    *,
    whole: int = WHOLE,
) -> Assessment:
    """Return the measures of a release; SL by what the records ask for, if they do.

    Each attribute weighs as much as another, whatever the job says, so that releases of
    one table can be compared.  More than `whole` records are linked in blocks: see
    `aggopt.measure.linkage`.

    Raises
    ------
    TableError
        No attribute varies; or a category is released as what neither the original nor
        its order or tree has.
    """
    given: dict[str, Any] = {"whole": whole}
    if asked:
        importance = asked["importance"]
        given["weights"] = importance if importance.any() else 1.0
        given["delta"] = asked["delta"]
    if not original.domains:
        return assess(original.matrix(), released.matrix(), **given)
    names = list(original.roles.quasi_identifier)
    one, other = (table.frame.select(names) for table in (original, released))
    types = {name: replace(how, weight=1.0) for name, how in original.types.items()}
    return assess(one.to_native(), other.to_native(), types, **given)
