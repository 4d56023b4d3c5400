"""Association of released attributes with their originals, and with each other."""

from itertools import combinations
from typing import Any

from aggopt.measure._typed_pair import AttributePair, TypedPair, Types
from aggopt.measure.registry import Heading, TypedComparison, TypedMeasure
from aggopt.measure.types.frequencies import (
    Contingency,
    compute_mean_figure,
    count_frequencies,
)


def ebil(original: Any, released: Any, attributes: Types = None) -> dict[str, Any]:
    """Return the entropy-based information loss, by attribute, 0..1.

    H(x | x') / H(x): the share of the entropy of the original level that remains if the
    released level is known.  0 if the attribute has one level.  Lower is better.  None
    for numbers.

    Source: Domingo-Ferrer and Torra (2001), after Kooiman, Willenborg and Gouweleeuw
    (1998).

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("mmmm")
    >>> ebil(sex, pd.DataFrame({"sex": released}))
    {'sex': 1.0}
    """
    return TypedPair.of(original, released, attributes).by_attribute(_compute_ebil)


def cramers_v(original: Any, released: Any, attributes: Types = None) -> float | None:
    """Return the mean change |V' - V| of Cramer's V, 0..1.

    Over all pairs of attributes that vary and are not numeric; None without a pair.
    V is 0 if an attribute is released as one level.  Lower is better.

    Source: Cramer (1946).

    Examples
    --------
    >>> import pandas as pd
    >>> one = pd.DataFrame({"sex": list("ffmm"), "wed": list("yynn")})
    >>> cramers_v(one, one.assign(wed=list("ynyn")))
    1.0
    """
    return _compute_cramers_v(TypedComparison.of(original, released, attributes))


def mutual_information(
    original: Any, released: Any, attributes: Types = None
) -> float | None:
    """Return the released mutual information over the original's, 0 or more.

    Sums over all pairs of attributes that vary and are not numeric.  1 is no change;
    groups mostly make it more.  None if the original has no mutual information.

    Source: Shannon (1948).

    Examples
    --------
    >>> import pandas as pd
    >>> one = pd.DataFrame({"sex": list("ffmm"), "wed": list("yynn")})
    >>> mutual_information(one, one.assign(wed=list("ynyn")))
    0.0
    """
    return _compute_mutual_information(
        TypedComparison.of(original, released, attributes)
    )


def _compute_ebil(pair: AttributePair) -> float | None:
    if pair.of.numbers is not None:
        return None
    table = Contingency.of(pair.original, pair.released)
    return table.left / table.entropy if table.rows > 1 else 0.0


def _compute_cramers_v(tables: TypedComparison) -> float | None:
    return compute_mean_figure(
        [abs(y.cramers_v - x.cramers_v) for x, y in tables.once(_build_two_way)]
    )


def _compute_mutual_information(tables: TypedComparison) -> float | None:
    informations = [
        (x.information, y.information) for x, y in tables.once(_build_two_way)
    ]
    before = sum(one for one, _ in informations)
    return sum(other for _, other in informations) / before if before else None


def _build_two_way(tables: TypedComparison) -> list[tuple[Contingency, Contingency]]:
    """Return the table of each two attributes, before and after."""
    return [
        (Contingency.of(a.original, b.original), Contingency.of(a.released, b.released))
        for a, b in combinations(tables.typed.categories, 2)
    ]


EBIL = TypedMeasure(
    name="ebil",
    when="how little the released level says of the original one",
    rank=70,
    function=ebil,
    range="0..1",
    better="lower",
    source="Domingo-Ferrer and Torra (2001)",
    heading=Heading.LOSS,
    label="EBIL",
    by_attribute=_compute_ebil,
)

CRAMERS_V = TypedMeasure(
    name="cramers_v",
    when="change of Cramer's V of two attributes, mean over pairs",
    rank=180,
    function=cramers_v,
    range="0..1",
    better="lower",
    source="Cramer (1946)",
    heading=Heading.PAIRS,
    label="change of V",
    of_table=_compute_cramers_v,
    percent=False,
)

MUTUAL_INFORMATION = TypedMeasure(
    name="mutual_information",
    when="mutual information, released over original, sums over pairs",
    rank=190,
    function=mutual_information,
    range="0..",
    better="-",
    source="Shannon (1948)",
    heading=Heading.PAIRS,
    label="MI ratio",
    of_table=_compute_mutual_information,
    percent=False,
)


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
    return TypedPair.of(original, released, attributes).by_attribute(_compute_unchanged)


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
    return TypedPair.of(original, released, attributes).by_attribute(_compute_kappa)


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
    return TypedPair.of(original, released, attributes).by_attribute(_compute_truth)


def _compute_unchanged(pair: AttributePair) -> float:
    """Return the share of records whose released category is their own."""
    return float(pair.unchanged.mean())


def _compute_kappa(pair: AttributePair) -> float | None:
    if pair.of.numbers is not None:
        return None
    before, after = count_frequencies(pair.original, pair.released)
    n = pair.n
    equal = int(pair.unchanged.sum())
    chance = int(before @ after)
    return (n * equal - chance) / (n * n - chance) if chance < n * n else 0.0


def _compute_truth(pair: AttributePair) -> float | None:
    """Return the share of released categories that are true of their record."""
    if pair.of.numbers is not None:
        return None
    true = pair.unchanged
    if len(pair.of.nodes) > len(pair.of.levels):
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
    by_attribute=_compute_unchanged,
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
    by_attribute=_compute_kappa,
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
    by_attribute=_compute_truth,
)
