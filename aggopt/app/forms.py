"""The fields of the forms, read into changes of the job; each field acts or raises."""

from collections.abc import Mapping, Sequence
from typing import Any

from aggopt.app.job_text import (
    QUASI_IDENTIFIER,
    read_roles,
    read_section,
    replace_keys,
    replace_roles,
)
from aggopt.errors import JobError

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
KEPT = ("mean", "variance", "covariance")
REPAIRS = ("merge", "search")
RECOMMENDED = "recommended"
METHODS = (
    RECOMMENDED,
    "local_search",
    "optimal",
    "blocked",
    "mdav",
    "mhm",
    "vmdav",
    "individual_ranking",
)
Fields = Mapping[str, str]


def apply_roles(text: str, columns: Sequence[Mapping[str, Any]], form: Fields) -> str:
    """Return the job with the roles and types of a form, numbered as the columns."""
    chosen = {
        column["name"]: _choose(form, f"role{number}", ("", *ROLES))
        for number, column in enumerate(columns)
        if f"role{number}" in form
    }
    roles = {**read_roles(text), **chosen}
    text = replace_roles(text, roles)
    for number, column in enumerate(columns):
        if roles.get(column["name"]) == QUASI_IDENTIFIER:
            text = _apply_type(text, column["name"], number, form)
    policy = _choose(form, "policy", POLICIES)
    return replace_keys(text, ["missing"], {"policy": policy})


def _apply_type(text: str, name: str, number: int, form: Fields) -> str:
    if f"kind{number}" not in form:  # the form showed no types of this column
        return text
    order = [w.strip() for w in form.get(f"order{number}", "").split(";") if w.strip()]
    stated = read_section(text, "attributes").get(name, {})
    keys: dict[str, Any] = {
        "kind": _choose(form, f"kind{number}", KINDS) or None,
        "format": form.get(f"format{number}", "").strip() or None,
        "order": order or None,
        "rare": "avoid" if form.get(f"rare{number}") else None,
        "lower": _read_number(form.get(f"lower{number}", ""), "lower"),
    }
    if keys["format"]:
        keys["kind"] = None
    tree = form.get(f"tree{number}", "").strip()
    if not isinstance(stated.get("tree"), dict):  # one in the job itself stays
        keys["tree"] = tree or None
    return replace_keys(text, ["attributes", name], keys)


def apply_protection(text: str, form: Fields) -> str:
    """Return the job with the protection of a form: k, l, t, what is kept, method."""
    k = _read_whole(form.get("k", ""), "k")
    if k is None:
        raise JobError("k is empty.", fix="write a whole number from 2 up.")
    l_least = _read_whole(form.get("l", ""), "l")
    t = _read_number(form.get("t", ""), "t")
    has_values = l_least is not None or t is not None
    repair = _choose(form, "repair", ("", *REPAIRS)) or "merge"
    text = replace_keys(
        text,
        ["privacy"],
        {"k": k, "l": l_least, "t": t, "repair": repair if has_values else None},
    )
    keep = _choose(form, "keep", ("", *KEPT))
    if keep:
        text = replace_keys(
            text, ["aggregation"], {"keep": None if keep == "mean" else keep}
        )
    method = form.get("method", "")
    if method:
        stated = read_section(text, "partition")
        before = stated.get("method", RECOMMENDED)
        if method != before:
            _choose(form, "method", METHODS)
            shared = ("attributes", "weights", "time_limit")
            removed = dict.fromkeys(set(stated) - set(shared))
            name = None if method == RECOMMENDED else method
            text = replace_keys(text, ["partition"], {**removed, "method": name})
    return text


def read_choice(form: Fields) -> dict[str, Any]:
    """Return what is compared: values of k, methods, and the largest linkage."""
    words = form.get("k", "").replace(",", " ").split()
    ks = [k for word in words if (k := _read_whole(word, "k")) is not None]
    methods = form.get("methods", "").replace(",", " ").split()
    for method in methods:
        if method not in METHODS:
            raise JobError(
                f"{method!r} is no method of this list.",
                fix=f"write some of {', '.join(METHODS)}.",
            )
    share = _read_number(form.get("at_most", "") or "10", "the largest linkage")
    return {"k": ks, "methods": methods, "at_most": (share or 0.0) / 100}


def _choose(form: Fields, name: str, known: Sequence[str]) -> str:
    """Return the value of a field that has one of these values."""
    value = form.get(name, known[0])
    if value not in known:
        raise JobError(
            f"The field {name!r} has an unknown value.", fix="choose one of the list."
        )
    return value


def _read_whole(text: str, name: str) -> int | None:
    """Return a whole number; None of an empty field."""
    try:
        return int(text) if text.strip() else None
    except ValueError:
        raise JobError(
            f"{name} is no whole number.", fix="write digits alone, such as 5."
        ) from None


def _read_number(text: str, name: str) -> int | float | None:
    """Return a number; None of an empty field."""
    written = text.strip().replace(",", ".")
    if not written:
        return None
    try:
        number = float(written)
    except ValueError:
        raise JobError(
            f"{name} is no number.", fix="write 0.15, for example."
        ) from None
    return int(number) if number.is_integer() and "." not in written else number
