"""Counts in sentences."""


def many(count: int, one: str, more: str = "") -> str:
    """Return a count with the word for one, or for `more`: one with an s, if omitted.

    Examples
    --------
    >>> many(1, "record"), many(0, "record"), many(2, "entry", "entries")
    ('1 record', '0 records', '2 entries')
    """
    return f"{count} {one if count == 1 else more or f'{one}s'}"
