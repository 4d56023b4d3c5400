"""Notes on odd branches in a tree of values, which are never repaired."""

from aggopt.core.plural import plural
from aggopt.encoding._domain import Domain


def odd_branches(domain: Domain) -> str:
    """Return a note on branches with one value, "" without these branches.

    A name that is spelled in two ways causes them: then a sibling branch has nearly an
    equal name.  The note contains counts, never names.

    >>> found = {"a": "Europe", "b": "Europe", "c": "Europa", "d": "Asia", "e": "Asia"}
    >>> tree = found | dict.fromkeys(("Europe", "Europa", "Asia"), "*")
    >>> odd_branches(Domain.hierarchical(tree)).split(";")[0]
    '1 branch of the tree has one value only'
    """
    if domain.kind != "hierarchical":
        return ""
    single = [v for v in _inner(domain) if domain.above[:, v].sum() == 1]
    if not single:
        return ""
    has = "has" if len(single) == 1 else "have"
    note = (
        f"{plural(len(single), 'branch', 'branches')} of the tree {has} one value only"
    )
    alike = sum(_has_twin(domain, v) for v in single)
    if alike:
        of = "its name" if len(single) == 1 else f"names of {alike} of them"
        note += f"; {of} and a name beside it differ by a letter or less"
    return f"{note}: look whether a name is spelled in two ways."


def _inner(domain: Domain) -> range:
    """Return the nodes that are not levels, without the root, which is last."""
    return range(domain.m, len(domain.nodes) - 1)


def _has_twin(domain: Domain, node: int) -> bool:
    """Whether another inner node with this parent has a nearly equal name."""
    return any(
        v != node
        and domain.parent[v] == domain.parent[node]
        and _close(str(domain.nodes[v]), str(domain.nodes[node]))
        for v in _inner(domain)
    )


def _close(one: str, other: str) -> bool:
    """Whether two names differ by case and spaces, or one letter besides, at most.

    >>> _close("Europe", "europa "), _close("20-29", "30-39"), _close("East", "Eats")
    (True, False, False)
    """
    a, b = ("".join(name.split()).casefold() for name in (one, other))
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1:
        return False
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if same is None:
        return not b[len(a) :].isdecimal()
    skip = same + (len(a) == len(b))
    letters = b[same] + (a[same] if len(a) == len(b) else "")
    return a[skip:] == b[same + 1 :] and not any(x.isdecimal() for x in letters)
