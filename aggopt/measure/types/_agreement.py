"""Shares of records that are released unchanged, or truthfully."""

from typing import Any

from aggopt.measure._typed_pair import AttributePair, TypedPair, Types
from aggopt.measure.registry import Heading
from aggopt.measure.types._registry import TypedMeasure
from aggopt.measure.types.counts import frequencies


def unchanged(
    original: Any, released: Any, attributes: Types = None
) -> dict[str, float]:
    """Return the share of records released unchanged, by attribute, 0..1.

    Lower is better for privacy.  But a level that most records have is seldom changed
    by any method, so compare `kappa`.

    Source: this package.

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("fmm")}), list("fff")
    >>> unchanged(sex, pd.DataFrame({"sex": released}))
    {'sex': 0.3333333333333333}
    """
    return TypedPair.of(original, released, attributes).each(_unchanged)


def kappa(original: Any, released: Any, attributes: Types = None) -> dict[str, Any]:
    """Return the excess of `unchanged` over chance, by attribute, -1..1.

    (p - c) / (1 - c), with p the share of records released unchanged and c its
    expectation with released levels permuted: the sum over levels of the products of
    their original and released shares.  1 if all are unchanged; 0 at chance, and if the
    attribute has one level.  None for numbers, which have SDID.

    Source: Cohen (1960).

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("fmmm")
    >>> kappa(sex, pd.DataFrame({"sex": released}))
    {'sex': 0.5}
    """
    return TypedPair.of(original, released, attributes).each(_kappa)


def truth(original: Any, released: Any, attributes: Types = None) -> dict[str, Any]:
    """Return the share of true statements, by attribute, 0..1.

    A statement is true if the released value is the record's own level, or a node above
    it in its tree.  Higher is better for use, lower for privacy.  None for numbers.

    Source: this package; local generalisation, as ARX has it, is true throughout.

    Examples
    --------
    >>> import pandas as pd
    >>> ill = pd.DataFrame({"ill": ["flu", "asthma", "attack"]})
    >>> released = pd.DataFrame({"ill": ["lung", "asthma", "lung"]})
    >>> tree = {"lung": ["flu", "asthma"], "heart": ["attack"]}
    >>> truth(ill, released, {"ill": {"tree": tree}})
    {'ill': 0.6666666666666666}
    """
    return TypedPair.of(original, released, attributes).each(_truth)


def _unchanged(pair: AttributePair) -> float:
    return float(pair.unchanged.mean())


def _kappa(pair: AttributePair) -> float | None:
    if pair.of.numbers is not None:
        return None
    before, after = frequencies(pair.original, pair.released)
    n, equal, chance = pair.n, int(pair.unchanged.sum()), int(before @ after)
    return (n * equal - chance) / (n * n - chance) if chance < n * n else 0.0


def _truth(pair: AttributePair) -> float | None:
    if pair.of.numbers is not None:
        return None
    true = pair.unchanged
    if pair.of.kind == "hierarchical":
        true = true | pair.of.domain.above[pair.original, pair.released]
    return float(true.mean())


UNCHANGED = TypedMeasure(
    name="unchanged",
    when="how many records are released as they were",
    rank=30,
    function=unchanged,
    range="0..1",
    better="lower",
    source="this package",
    heading=Heading.RISK,
    label="unchanged",
    each=_unchanged,
)

KAPPA = TypedMeasure(
    name="kappa",
    when="how far that exceeds chance",
    rank=40,
    function=kappa,
    range="-1..1",
    better="lower",
    source="Cohen (1960)",
    heading=Heading.RISK,
    label="kappa",
    each=_kappa,
    percent=False,
)

TRUTH = TypedMeasure(
    name="truth",
    when="how many statements of the release are true",
    rank=50,
    function=truth,
    range="0..1",
    better="-",
    source="this package",
    heading=Heading.RISK,
    label="true",
    each=_truth,
)
