"""Risks that count the records which a reader of the written file finds equal."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.validation import Floats, Labels
from aggopt.measure import Assessment
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.counts import combine_codes, encode_entries


def replace_counted_risks(measures: Assessment, audit: Audit) -> Assessment:
    """Return measures whose groups are the groups that the audit counted.

    Groups of floats are equal, except for values that the file distinguishes: 0 and -0,
    or 5 and 5.0, which another program wrote.
    """
    counted: dict[str, Any] = {
        "highest_risk": 1 / audit.combination,
        "average_risk": audit.whole.average_risk,
        "reidentifications": audit.groups,
    }
    types = None if measures.types is None else replace(measures.types, **counted)
    return replace(measures, **counted, types=types)


def record_risks(
    released: nw.DataFrame[Any], names: Sequence[str], units: Labels | None = None
) -> Floats:
    """Return the re-identification chance of each record, (n,), fractions in (0, 1].

    1 / records that share its combination of the attributes `names`, counted by the
    rules of the audit; or 1 / `units` (n,) that share it.
    """
    groups = combine_codes(encode_entries(released[name]) for name in names)
    counted = groups
    if units is not None:
        counted = np.unique(np.stack([groups, units]), axis=1)[0]
    return np.asarray(1 / np.bincount(counted)[groups])
