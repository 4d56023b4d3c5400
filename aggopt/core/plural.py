"""Counts and names in sentences."""

from collections.abc import Sequence


def many(count: int, one: str, more: str = "") -> str:
    """Return a count with the word for one, or for `more`: one with an s, if omitted.

    Examples
    --------
    >>> many(1, "record"), many(0, "record"), many(2, "entry", "entries")
    ('1 record', '0 records', '2 entries')
    """
    return f"{count} {one if count == 1 else more or f'{one}s'}"


def join_names(names: Sequence[str], most: int) -> str:
    """Return names as a sentence lists them, of which it names `most`.

    Examples
    --------
    >>> join_names(["age", "sex", "town"], 3), join_names(["age", "sex", "town"], 1)
    ('age, sex and town', 'age and 2 more')
    """
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def are(count: int) -> str:
    """Return the verb that goes with a count.

    >>> are(1), are(0)
    ('is', 'are')
    """
    return "is" if count == 1 else "are"
