"""Counts, shares and names in sentences."""

from collections.abc import Sequence


def plural(count: int, one: str, more: str = "") -> str:
    """Return a count with the word for one, or for `more`: one with an s, if omitted.

    Examples
    --------
    >>> plural(1, "record"), plural(0, "record"), plural(2, "entry", "entries")
    ('1 record', '0 records', '2 entries')
    """
    return f"{count} {one if count == 1 else more or f'{one}s'}"


def format_percent(share: float | None) -> str:
    """Return a share in percent with two decimals; "none" without a share.

    >>> format_percent(0.125), format_percent(None)
    ('12.50 %', 'none')
    """
    return "none" if share is None else f"{100 * share:.2f} %"


def join_names(names: Sequence[str], count: int) -> str:
    """Return names as a sentence lists them, with at most `count` names.

    Examples
    --------
    >>> join_names(["age", "sex", "town"], 3), join_names(["age", "sex", "town"], 1)
    ('age, sex and town', 'age and 2 more')
    """
    shown = list(names[:count])
    if len(names) > count:
        shown.append(f"{len(names) - count} more")
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def agree(count: int, one: str, more: str) -> str:
    """Return `one` if the count is 1, else `more`: the word that agrees with it.

    >>> agree(1, "has", "have"), agree(0, "has", "have")
    ('has', 'have')
    """
    return one if count == 1 else more


def is_or_are(count: int) -> str:
    """Return the form of "be" for a count.

    >>> is_or_are(1), is_or_are(0)
    ('is', 'are')
    """
    return agree(count, "is", "are")
