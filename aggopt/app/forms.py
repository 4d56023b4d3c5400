"""The fields of the forms, read into changes of the job; each field acts or raises."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aggopt.app.job_text import (
    QUASI_IDENTIFIER,
    parse_roles,
    parse_section,
    replace_keys,
    replace_roles,
    replace_sections,
)
from aggopt.errors import JobError

Fields = Mapping[str, str]
Parser = Callable[[str, str], Any]  # of a field's name and text

ROLES = (
    "identifier",
    QUASI_IDENTIFIER,
    "confidential",
    "other",
    "stratum",
    "unit",
    "weight",
    "wish",
    "drop",
)
POLICIES = ("refuse", "patterns", "fill")
KEPT = ("variance", "covariance")  # in addition to means
REPAIRS = ("merge", "search")
METHODS = (
    "local_search",
    "optimal",
    "blocked",
    "mdav",
    "mhm",
    "vmdav",
    "individual_ranking",
)
KINDS = ("numeric", "nominal", "date")
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
    """Return a whole number."""
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


def parse_one_of(*known: str) -> Parser:
    """Return a parser that refuses any other text."""

    def parse(name: str, written: str) -> str:
        if written not in known:
            raise JobError(
                f"The field {name!r} has an unknown value.",
                fix=f"choose one of {', '.join(known)}.",
            )
        return written

    return parse


def parse_rare(name: str, written: str) -> str:
    """Return the word of a job for a box that is ticked."""
    return "avoid"


TYPE_FIELDS: dict[str, Parser] = {
    "kind": parse_one_of(*KINDS),
    "format": parse_text,
    "order": parse_names,
    "lower": parse_number,
    "rare": parse_rare,
    "tree": parse_text,
}
PRIVACY_FIELDS: dict[str, Parser] = {
    "k": parse_whole,
    "l": parse_whole,
    "t": parse_number,
    "repair": parse_one_of(*REPAIRS),
}


def write_form_roles(
    text: str, columns: Sequence[Mapping[str, Any]], form: Fields
) -> str:
    """Return the job with the roles and types of a form, numbered as the columns."""
    names = {str(number): column["name"] for number, column in enumerate(columns)}
    roles = parse_roles(text)
    for number, name in names.items():
        if f"role{number}" in form:
            role = read_field(form, f"role{number}", {}, parse_one_of(*ROLES))
            roles[name] = role or ""
    text = replace_roles(text, roles)
    attributes = parse_section(text, "attributes")
    changes = [
        (["attributes", name], _read_type(form, number, attributes.get(name, {})))
        for number, name in names.items()
        if roles.get(name) == QUASI_IDENTIFIER and f"kind{number}" in form
    ]
    if "policy" in form:
        missing = parse_section(text, "missing")
        policy = read_field(form, "policy", missing, parse_one_of(*POLICIES))
        changes.append((["missing"], {"policy": policy}))
    return replace_sections(text, changes)


def _read_type(form: Fields, number: str, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of the type of a column that fields show."""
    fields = {field: form.get(f"{field}{number}", "") for field in TYPE_FIELDS}
    keys = {
        field: read_field(fields, field, stated, parse)
        for field, parse in TYPE_FIELDS.items()
    }
    if keys["format"]:
        keys["kind"] = None
    if stated.get("rare", "avoid") != "avoid":
        del keys["rare"]
    if isinstance(stated.get("tree"), dict):  # a tree in the job itself
        del keys["tree"]
    return keys


def apply_protection(text: str, form: Fields) -> str:
    """Return the job with k, l, t, repair, what is kept and the method of a form.

    A field that the form lacks, or that has the value of the job, changes nothing.
    """
    privacy, partition, aggregation = (
        parse_section(text, name) for name in ("privacy", "partition", "aggregation")
    )
    keys = {
        name: read_field(form, name, privacy, parse)
        for name, parse in PRIVACY_FIELDS.items()
        if name in form
    }
    if keys.get("k", 0) is None:
        raise JobError("k is empty.", fix="write a whole number from 2 up.")
    is_required = keys.get("l") or keys.get("t")
    if not is_required and keys.pop("repair", None) and {"l", "t"} & set(privacy):
        keys["repair"] = None  # nothing is left to repair
    text = replace_keys(text, ["privacy"], keys)
    if "keep" in form:
        keep = read_field(form, "keep", aggregation, parse_one_of(*KEPT))
        text = replace_keys(text, ["aggregation"], {"keep": keep})
    if "method" in form:
        method = read_field(form, "method", partition, parse_one_of(*METHODS))
        if method != partition.get("method"):
            removed = dict.fromkeys(set(partition) - SHARED)
            text = replace_keys(text, ["partition"], {**removed, "method": method})
    return text


def apply_output(text: str, form: Fields) -> str:
    """Return the job with the title and the office of the report."""
    lines = {name: form.get(name, "").strip() or None for name in ("title", "office")}
    return replace_keys(text, ["output"], lines)


def read_comparison_settings(form: Fields) -> dict[str, Any]:
    """Return the values of k, the methods and the largest linkage of a comparison."""
    k, methods = (
        form.get(name, "").replace(",", " ").split() for name in ("k", "methods")
    )
    parse_method = parse_one_of(*METHODS)
    return {
        "k": [parse_whole("k", word) for word in k],
        "methods": [parse_method("methods", word) for word in methods],
        "at_most": (read_field(form, "at_most", {}, parse_number) or 0.0) / 100,
    }


def show_value(value: Any) -> str:
    """Return the text of a field for a value of the job; "" for none."""
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)


def read_field(
    form: Fields, name: str, stated: Mapping[str, Any], parse: Parser
) -> Any:
    """Return the value of a field; None of an empty one.

    A field that shows the value of the job has this value, whatever the form knows.
    """
    written = form.get(name, "").strip()
    if written == show_value(stated.get(name)):
        return stated.get(name)
    return parse(name, written) if written else None
