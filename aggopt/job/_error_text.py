"""Text on a wrong entry of a job: its place, its value and the expected value."""

import re
from collections.abc import Iterable
from typing import Any

CATEGORIES = "aggregation.categories"
CHOOSING = ("partition", "aggregation", CATEGORIES)  # their methods are not tables
_LONG = 60  # characters of an entry that are shown
_TRIED = re.compile(
    r"^(function-(before|after|wrap|plain)|literal|constrained-\w+|nullable|union|list|"
    r"tuple|dict|lax-or-strict|json-or-python|is-instance|tagged-union)\[|"
    r"^\[key\]$|^(constrained-)?(int|float|str|bool)$"
)


def list_errors(wrong: Iterable[Any]) -> list[Any]:
    """Return one error for each wrong entry, even if several readings were tried."""
    errors: dict[Any, Any] = {}
    for error in wrong:
        if error["type"] == "too_short" and error["input"]:
            continue  # its wrong entries have errors of their own
        is_known_key = (
            error["type"] != "extra_forbidden"
        )  # an unknown key may have any name
        place = _get_section_place(
            _strip_tried(error["loc"]) if is_known_key else error["loc"]
        )
        errors.setdefault(place, {**error, "loc": place})
    return list(errors.values())


def _get_section_place(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return the place of an entry; a section within a method counts as a section."""
    inner = place[:1] == ("aggregation",) and place[2:3] == ("categories",)
    return (CATEGORIES, *place[3:]) if inner else place


def _strip_tried(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return the place of an entry, without the library's own parts.

    An attribute may have the name of such a part.
    """
    first = 3 if place[:2] == ("privacy", "confidential") else 1
    for i in range(first, len(place)):
        part = place[i]
        if isinstance(part, str) and _TRIED.match(part):
            return place[:i]
    return place


def format_keys(table: Any) -> str:
    """Return the keys of a table as text; an empty text for other values."""
    if not isinstance(table, dict):
        return ""
    return f" with the keys {clip_text(repr(sorted(map(str, table))))}"


def describe_error(error: Any) -> str:
    """Return a text with the place of an entry and the expected value."""
    place = _format_place(error["loc"])
    if error["type"] == "missing":
        return f"{place} is missing"
    if error["type"] == "too_short":
        return f"{place} is empty"
    if error["type"] == "extra_forbidden":
        return f"{place} is not known"
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        what = (
            f" is {format_entry(error['input'])}" if message.startswith("write") else ""
        )
        return f"{place}{what}: {message}"
    return f"{place} is {format_entry(error['input'])}: {_describe_expected(error)}"


def _describe_expected(error: Any) -> str:
    """Return what belongs there, in our own words."""
    words = _KINDS.get(error["type"], "write something else")
    return words.format(**error.get("ctx", {}))


_KINDS = {
    "literal_error": "write {expected}",
    **dict.fromkeys(("int_type", "int_from_float"), "write a whole number"),
    **dict.fromkeys(("int_parsing", "int_parsing_size"), "write a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "write a number"),
    "finite_number": "write a finite number",
    "greater_than_equal": "write a number of at least {ge}",
    "greater_than": "write a number above {gt}",
    "less_than_equal": "write a number of at most {le}",
    "less_than": "write a number below {lt}",
    **dict.fromkeys(("bool_type", "bool_parsing"), "write true or false"),
    "string_type": "write text",
    "string_unicode": "write text that is Unicode",
    "invalid_key": "write names of keys as text",
    **dict.fromkeys(("list_type", "tuple_type"), "write a list"),
    **dict.fromkeys(("dict_type", "model_type"), "write a table of keys"),
    "model_attributes_type": "write a table of keys",
}


def _format_place(place: Any) -> str:
    """Return the place of an entry in the file, without parts that are not tables."""
    parts = [str(part) for part in place]
    if parts[0] in CHOOSING and parts[2:]:
        return f"[{parts[0]}] {'.'.join(parts[2:])}"
    return ".".join(parts)


def format_entry(entry: Any) -> str:
    """Return an entry as short text, in the words of a job file."""
    if isinstance(entry, dict):
        return "a table"
    if isinstance(entry, list | tuple):
        return "a list"
    if isinstance(entry, int) and abs(entry) >= 10**20:
        return "a whole number of more than 20 digits"  # Python may refuse to spell it
    if entry is None or isinstance(entry, str | int | float):
        return clip_text(repr(entry))
    kind = type(entry).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def clip_text(text: str) -> str:
    """Return the beginning of a text that is long."""
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."
