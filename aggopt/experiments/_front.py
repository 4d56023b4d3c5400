"""Points that no other beats in two figures, if lower is better in both."""

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the places of points that are Pareto optimal, by their first figure.

    Of points that are equal, the first.

    Examples
    --------
    >>> front([(3.0, 1.0), (1.0, 2.0), (2.0, 2.0)])
    [1, 0]
    """
    best: list[int] = []
    for place in sorted(range(len(points)), key=lambda j: points[j]):
        if not best or points[place][1] < points[best[-1]][1]:
            best.append(place)
    return best
