"""The fields of the forms, read into changes of the job; each field acts or raises."""

from collections.abc import Mapping, Sequence
from typing import Any

from aggopt.errors import JobError
from aggopt.job.toml_text import (
    QUASI_IDENTIFIER,
    parse_roles,
    parse_section,
    replace_keys,
    replace_roles,
)

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
KINDS = ("", "numeric", "nominal", "date")
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
SHARED = {"attributes", "weights", "time_limit"}  # settings that all methods take
TYPE_FIELDS = ("kind", "format", "order", "lower", "rare", "tree")
NOTHING: Mapping[str, Any] = {}
Fields = Mapping[str, str]


def apply_roles(text: str, columns: Sequence[Mapping[str, Any]], form: Fields) -> str:
    """Return the job with the roles and types of a form, numbered as the columns."""
    names = {number: column["name"] for number, column in enumerate(columns)}
    chosen = {
        name: _choose(form, f"role{number}", ROLES) or ""
        for number, name in names.items()
        if f"role{number}" in form
    }
    roles = {**parse_roles(text), **chosen}
    text = replace_roles(text, roles)
    for number, name in names.items():
        if roles.get(name) == QUASI_IDENTIFIER and f"kind{number}" in form:
            text = _apply_type(text, name, number, form)
    if "policy" in form:
        policy = _choose(form, "policy", POLICIES, parse_section(text, "missing"))
        text = replace_keys(text, ["missing"], {"policy": policy})
    return text


def _apply_type(text: str, name: str, number: int, form: Fields) -> str:
    """Return the job with the type of a column; keys that no field has stay."""
    stated = parse_section(text, "attributes").get(name, {})
    shown = {n: form.get(f"{n}{number}", "") for n in TYPE_FIELDS}
    keys: dict[str, Any] = {
        "kind": _choose(shown, "kind", KINDS, stated),
        "format": _read_text(shown, "format", stated),
        "order": _read_list(shown, "order", stated),
        "lower": _read_number(shown, "lower", stated),
    }
    if keys["format"]:
        keys["kind"] = None
    if stated.get("rare", "avoid") == "avoid":  # another word stays
        keys["rare"] = "avoid" if shown["rare"] else None
    if not isinstance(stated.get("tree"), dict):  # one in the job itself stays
        keys["tree"] = _read_text(shown, "tree", stated)
    return replace_keys(text, ["attributes", name], keys)


def apply_protection(text: str, form: Fields) -> str:
    """Return the job with k, l, t, repair, what is kept and the method of a form.

    A field that the form lacks, or that has the value of the job, changes nothing.
    """
    privacy, partition, aggregation = (
        parse_section(text, name) for name in ("privacy", "partition", "aggregation")
    )
    keys = {
        name: read(form, name, privacy)
        for name, read in (("k", _read_whole), ("l", _read_whole), ("t", _read_number))
        if name in form
    }
    if keys.get("k", 0) is None:
        raise JobError("k is empty.", fix="write a whole number from 2 up.")
    if "repair" in form:
        repair = _choose(form, "repair", REPAIRS, privacy)
        if keys.get("l") or keys.get("t"):
            keys["repair"] = repair
        elif {"l", "t"} & set(privacy):  # nothing is left to repair
            keys["repair"] = None
    text = replace_keys(text, ["privacy"], keys)
    if "keep" in form:
        keep = _choose(form, "keep", ("", *KEPT), aggregation)
        text = replace_keys(text, ["aggregation"], {"keep": keep})
    if "method" in form:
        method = _choose(form, "method", ("", *METHODS), partition)
        if method != partition.get("method"):
            removed = dict.fromkeys(set(partition) - SHARED)
            text = replace_keys(text, ["partition"], {**removed, "method": method})
    return text


def apply_output(text: str, form: Fields) -> str:
    """Return the job with the title and the office of the report."""
    stated = parse_section(text, "output")
    lines = {name: _read_text(form, name, stated) for name in ("title", "office")}
    return replace_keys(text, ["output"], lines)


def read_choice(form: Fields) -> dict[str, Any]:
    """Return what is compared: values of k, methods, and the largest linkage."""
    words = form.get("k", "").replace(",", " ").split()
    methods = form.get("methods", "").replace(",", " ").split()
    for method in methods:
        _choose({"methods": method}, "methods", METHODS)
    return {
        "k": [_read_whole({"k": word}, "k") for word in words],
        "methods": methods,
        "at_most": (_read_number(form, "at_most") or 0.0) / 100,
    }


def show_value(value: Any) -> str:
    """Return the text of a field for a value of the job; "" for none."""
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)


def _is_unchanged(form: Fields, name: str, stated: Mapping[str, Any]) -> bool:
    """Whether a field has the value of the job, which then stays as it is written."""
    return form.get(name, "").strip() == show_value(stated.get(name))


def _choose(
    form: Fields, name: str, known: Sequence[str], stated: Mapping[str, Any] = NOTHING
) -> Any:
    """Return the value of a field that has one of these values; None if it is ""."""
    value = form.get(name, "")
    if _is_unchanged(form, name, stated):
        return stated.get(name)
    if value not in known:
        raise JobError(
            f"The field {name!r} has an unknown value.",
            fix=f"choose one of {', '.join(filter(None, known))}.",
        )
    return value or None


def _read_text(form: Fields, name: str, stated: Mapping[str, Any]) -> str | None:
    """Return the text of a field; None of an empty one."""
    return form.get(name, "").strip() or None


def _read_list(form: Fields, name: str, stated: Mapping[str, Any]) -> Any:
    """Return the names in a field, separated by semicolons; None without any."""
    if _is_unchanged(form, name, stated):
        return stated.get(name)
    return [w.strip() for w in form[name].split(";") if w.strip()] or None


def _read_whole(
    form: Fields, name: str, stated: Mapping[str, Any] = NOTHING
) -> int | None:
    """Return a whole number; None of an empty field."""
    number = _read_number(form, name, stated)
    if isinstance(number, float):
        raise JobError(f"{name} is no whole number.", fix="write digits, such as 5.")
    return number


def _read_number(
    form: Fields, name: str, stated: Mapping[str, Any] = NOTHING
) -> int | float | None:
    """Return a number; None of an empty field."""
    if _is_unchanged(form, name, stated):
        kept: int | float | None = stated.get(name)
        return kept
    written = form[name].strip().replace(",", ".")
    try:
        return int(written) if written.isdecimal() else float(written)
    except ValueError:
        raise JobError(
            f"{name} is no number.", fix="write digits, such as 5 or 0.15."
        ) from None
