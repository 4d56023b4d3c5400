"""The fields of the forms, read into changes of the job; each field acts or raises."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aggopt.app.job_text import (
    QUASI_IDENTIFIER,
    find_value,
    parse_job,
    parse_roles,
    parse_section,
    replace_keys,
    replace_roles,
)
from aggopt.app.texts import FIRST, Texts
from aggopt.errors import JobError

Form = Mapping[str, str]
Parser = Callable[[str, str], Any]  # of a field's name and text
SHARED = {"attributes", "weights", "time_limit"}  # settings that all methods take


def parse_number(name: str, written: str) -> int | float:
    """Return a number, whole if it is written in digits alone."""
    text = written.replace(",", ".")
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        fix = "write digits, such as 5 or 0.15."
        raise JobError(f"{name} is no number.", fix=fix) from None


def parse_whole(name: str, written: str) -> int:
    """Return the text of a field as a whole number; refuse other text."""
    number = parse_number(name, written)
    if isinstance(number, float):
        raise JobError(f"{name} is no whole number.", fix="write digits, such as 5.")
    return number


def parse_names(name: str, written: str) -> list[str] | None:
    """Return names that semicolons separate; None without any."""
    return [word.strip() for word in written.split(";") if word.strip()] or None


def parse_text(name: str, written: str) -> str:
    """Return the text of a field."""
    return written


def parse_choice(name: str, written: str) -> str:
    """Return one of the values that the page offers."""
    known = Texts(FIRST).list_choices(name)
    if written not in known:
        raise JobError(
            f"The field {name!r} has an unknown value.",
            fix=f"choose one of {', '.join(filter(None, known))}.",
        )
    return written


TYPE_FIELDS: dict[str, Parser] = {  # keys of the section of a column
    "kind": parse_choice,
    "format": parse_text,
    "order": parse_names,
    "lower": parse_number,
    "rare": parse_choice,
    "tree": parse_text,
}
FIELDS: dict[tuple[str, ...], Parser] = {  # by the section and the key
    ("missing", "policy"): parse_choice,
    ("privacy", "k"): parse_whole,
    ("privacy", "l"): parse_whole,
    ("privacy", "t"): parse_number,
    ("privacy", "repair"): parse_choice,
    ("aggregation", "keep"): parse_choice,
    ("partition", "method"): parse_choice,
    ("output", "title"): parse_text,
    ("output", "office"): parse_text,
}


def show_value(value: Any) -> str:
    """Return the text of a field for a value of the job; "" for none."""
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)


def read_field(name: str, written: str, stated: Any, parse: Parser) -> Any:
    """Return the value of a field; None of an empty one.

    A field that shows the value of the job has this value, whatever the form knows.
    """
    text = written.strip()
    if text == show_value(stated):
        return stated
    return parse(name, text) if text else None


def write_form_fields(text: str, form: Form) -> str:
    """Return the job with the fields of a form; one that it lacks changes nothing."""
    stated = parse_job(text)
    values = {
        path: read_field(path[1], form[path[1]], find_value(stated, *path), parse)
        for path, parse in FIELDS.items()
        if path[1] in form
    }
    if values.get(("privacy", "k"), 0) is None:
        raise JobError("k is empty.", fix="write a whole number from 2 up.")
    repair = ("privacy", "repair")
    if repair in values and not any(values.get(("privacy", key)) for key in "lt"):
        del values[repair]
        if {"l", "t"} & {*parse_section(text, "privacy")}:
            values[repair] = None  # nothing is left to repair
    partition = parse_section(text, "partition")
    method = partition.get("method")
    if values.get(("partition", "method"), method) != method:
        others = {("partition", key): None for key in {*partition} - SHARED}
        values = others | values
    return replace_keys(text, values)


def write_form_roles(
    text: str, columns: Sequence[Mapping[str, Any]], form: Form
) -> str:
    """Return the job with the roles and types that the fields of each column state."""
    names = {number: column["name"] for number, column in enumerate(columns)}
    chosen = {
        name: read_field("role", form[f"role{number}"], None, parse_choice) or ""
        for number, name in names.items()
        if f"role{number}" in form
    }
    roles = parse_roles(text) | chosen
    text = replace_roles(text, roles)
    values: dict[tuple[str, ...], Any] = {}
    for number, name in names.items():
        if roles.get(name) == QUASI_IDENTIFIER and f"kind{number}" in form:
            fields = {key: form.get(f"{key}{number}", "") for key in TYPE_FIELDS}
            keys = _read_type(fields, parse_section(text, "attributes", name))
            values |= {("attributes", name, key): keys[key] for key in keys}
    return write_form_fields(replace_keys(text, values), form)


def _read_type(fields: Form, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of the type of a column that fields show."""
    keys = {
        key: read_field(key, fields[key], stated.get(key), parse)
        for key, parse in TYPE_FIELDS.items()
        if not isinstance(stated.get(key), dict)  # a tree in the job itself
    }
    if keys["format"]:
        keys["kind"] = None
    if stated.get("rare", "avoid") != "avoid":
        del keys["rare"]
    return keys


def read_comparison_settings(form: Form) -> dict[str, Any]:
    """Return the values of k, the methods and the largest linkage of a comparison."""
    k, methods = (
        form.get(name, "").replace(",", " ").split() for name in ("k", "methods")
    )
    share = read_field("at_most", form.get("at_most", ""), None, parse_number)
    return {
        "k": [parse_whole("k", word) for word in k],
        "methods": [parse_choice("method", word) for word in methods],
        "at_most": (share or 0.0) / 100,
    }
