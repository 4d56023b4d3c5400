"""The univariate partition in exact arithmetic, and by looking at every partition."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

Values = Sequence[Fraction]


def values(x) -> list[Fraction]:
    return [Fraction(float(v)) for v in x]


def cost(group: Values, kind: str) -> Fraction:
    """What a group costs; "integer" counts squares from the best whole number."""
    group = sorted(group)
    m = len(group)
    if kind == "maxdist":
        return group[-1] - group[0]
    if kind == "sae":
        return sum(abs(v - group[m // 2]) for v in group)
    mean = sum(group) / m
    centre = Fraction(round(mean)) if kind == "integer" else mean
    return sum((v - centre) ** 2 for v in group)


def least(x, k: int, kind: str = "sse") -> Fraction:
    """The least cost of x split into runs of its sorted values, k or more in each."""
    v, n = sorted(values(x)), len(x)
    best: list[Fraction | None] = [Fraction(0), *[None] * n]
    for j in range(k, n + 1):
        ends = [(i, best[i]) for i in range(j - k + 1) if best[i] is not None]
        best[j] = min(before + cost(v[i:j], kind) for i, before in ends)
    return best[n]


def of(x, labels, kind: str = "sse") -> Fraction:
    """What a partition costs."""
    v = values(x)
    groups = {g: [a for a, b in zip(v, labels, strict=True) if b == g] for g in labels}
    return sum(cost(group, kind) for group in groups.values())


def partitions(records: list[int], k: int) -> Iterator[list[list[int]]]:
    """Every partition of some records into groups of k or more."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for chosen in range(2 ** len(rest)):
        group = [first, *(r for b, r in enumerate(rest) if chosen >> b & 1)]
        left = [r for b, r in enumerate(rest) if not chosen >> b & 1]
        if len(group) >= k and (not left or len(left) >= k):
            for others in partitions(left, k):
                yield [group, *others]
