"""The fields of the forms, read into changes of the job; each field acts or raises."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from aggopt.app import job_text
from aggopt.app.job_text import QUASI_IDENTIFIER, find_value, parse_section
from aggopt.app.texts import FIRST, Texts
from aggopt.errors import JobError

Form = Mapping[str, str]
ALONE = "individual_ranking"  # its groups, and k, are of each column by itself
TIMED = (None, "local_search", "optimal", "blocked")  # methods with a time limit
TYPE_FIELDS = {  # keys in the section of a column, by what they hold
    "kind": "choice",
    "format": "text",
    "order": "names",
    "lower": "number",
    "rare": "choice",
    "tree": "text",
}
FIELDS: dict[tuple[str, ...], str] = {  # keys in sections, by what they hold
    ("missing", "policy"): "choice",
    ("privacy", "k"): "whole number",
    ("privacy", "l"): "whole number",
    ("privacy", "t"): "number",
    ("privacy", "repair"): "choice",
    ("aggregation", "keep"): "choice",
    ("partition", "method"): "choice",
    ("output", "title"): "text",
    ("output", "office"): "text",
}


def parse_field(name: str, text: str, holds: str) -> Any:
    """Return the value of a field that is not empty."""
    number = text.replace(",", ".")
    match holds:
        case "text":
            return text
        case "names":
            return [word.strip() for word in text.split(";") if word.strip()] or None
        case "choice":
            known = [value for value in Texts(FIRST).list_choices(name) if value]
            if text in known:
                return text
            problem = f"The field {name!r} has an unknown value."
            raise JobError(problem, fix=f"choose one of {', '.join(known)}.")
        case _ if number.isdecimal():
            return int(number)
        case "number":
            with suppress(ValueError):
                return float(number)
    example = "5" if holds == "whole number" else "5 or 0.15"
    raise JobError(f"{name} is no {holds}.", fix=f"write digits, such as {example}.")


def read_field(name: str, written: str, stated: Any, holds: str) -> Any:
    """Return the value of a field: that of the job if the field shows it."""
    text = written.strip()
    if text == show_value(stated):
        return stated
    return parse_field(name, text, holds) if text else None


def show_value(value: Any) -> str:
    """Return the text of a field for a value of the job; "" for none."""
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)


def write_form_fields(text: str, form: Form) -> str:
    """Return the job with the fields of a form; one that it lacks changes nothing."""
    stated = job_text.parse_job(text)
    values = {
        path: read_field(path[1], form[path[1]], find_value(stated, *path), holds)
        for path, holds in FIELDS.items()
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
    method = values.get(("partition", "method"), before := partition.get("method"))
    if method != before:
        taken = {"time_limit"} if method in TIMED else set()
        taken |= set() if method == ALONE else {"attributes", "weights"}
        if ALONE in (method, before):
            scope = "blocks" if method == ALONE else "combination"
            values["privacy", "scope"] = scope
        values = {("partition", key): None for key in {*partition} - taken} | values
    return job_text.replace_keys(text, values)


def write_form_roles(
    text: str, columns: Sequence[Mapping[str, Any]], form: Form
) -> str:
    """Return the job with the roles and types that the fields of each column state."""
    names = {number: column["name"] for number, column in enumerate(columns)}
    chosen = {
        name: read_field("role", form[f"role{number}"], None, "choice") or ""
        for number, name in names.items()
        if f"role{number}" in form
    }
    roles = job_text.parse_roles(text) | chosen
    text = job_text.replace_roles(text, roles)
    values: dict[tuple[str, ...], Any] = {}
    for number, name in names.items():
        if roles.get(name) != QUASI_IDENTIFIER or f"kind{number}" not in form:
            continue
        stated = parse_section(text, "attributes", name)
        keys = {
            key: read_field(key, form.get(f"{key}{number}", ""), stated.get(key), holds)
            for key, holds in TYPE_FIELDS.items()
            if not isinstance(stated.get(key), dict)  # a tree in the job itself
        }
        if keys["format"]:
            keys["kind"] = None
        if stated.get("rare", "avoid") != "avoid":
            del keys["rare"]
        values |= {("attributes", name, key): keys[key] for key in keys}
    return write_form_fields(job_text.replace_keys(text, values), form)


def read_comparison_settings(form: Form) -> dict[str, Any]:
    """Return the values of k, the methods and the largest linkage of a comparison."""
    k, methods = (form.get(n, "").replace(",", " ").split() for n in ("k", "methods"))
    share = read_field("at_most", form.get("at_most", ""), None, "number")
    return {
        "k": [parse_field("k", word, "whole number") for word in k],
        "methods": [parse_field("method", word, "choice") for word in methods],
        "at_most": (share or 0.0) / 100,
    }
