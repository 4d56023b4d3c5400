"""Error messages for invalid jobs, with their corrections."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel
from pydantic import ValidationError as Invalid

from aggopt.aggregate import CATEGORY_AGGREGATORS
from aggopt.aggregate.kept_statistics import FORMULA, TABLE
from aggopt.errors import JobError, UnknownNameError
from aggopt.job._error_text import (
    CATEGORIES,
    clip_text,
    describe_error,
    format_entry,
    format_keys,
    list_errors,
)
from aggopt.job._privacy import Privacy, Treatment
from aggopt.job._unknown_key import list_methods, suggest_key
from aggopt.partition.shared.settings import WAYS


def make_job_error(invalid: Invalid, job: type[BaseModel]) -> JobError:
    """Return the error that describes the invalid sections of a `job`."""
    return make_validation_error(invalid.errors(include_url=False), job)


def make_validation_error(tried: Sequence[Any], job: type[BaseModel]) -> JobError:
    """Return the error for invalid entries, in the format of pydantic."""
    wrong = list_errors(tried)
    first = _select_first(wrong)
    place = [str(part) for part in first["loc"]]
    error = first.get("ctx", {}).get("error")
    if isinstance(error, JobError):
        return error
    if of_forms := _make_form_error(place, first, tried):
        return of_forms
    match first["type"]:
        case "extra_forbidden":
            return suggest_key(place, job)
        case "union_tag_invalid":
            return _make_method_error(place[0], first["ctx"]["tag"], job)
        case "union_tag_not_found":
            return JobError(
                f"[{place[0]}] names no method.",
                fix=f"add method = one of {', '.join(list_methods(place[0], job))}.",
            )
        case "greater_than_equal" | "greater_than" | "less_than" if (
            wanted := _WANTED.get(".".join(place))
        ):
            return JobError(
                f"{place[-1]} = {format_entry(first['input'])}.", fix=wanted
            )
        case kind if kind != "value_error" and place[3:4] and place[3] in _WRITTEN:
            return _make_treatment_error(place[:4], tried)
        case "value_error" if place[:1] == ["privacy"]:
            complaint = first["msg"].removeprefix("Value error, ")
            return JobError(f"[{'.'.join(place)}]: {complaint}.", fix=_ENTRIES)
        case _ if wanted := _WANTED.get(".".join(_get_key_place(place))):
            return JobError(f"{describe_error(first)}.", fix=wanted)
    return JobError(
        f"The job cannot be used: {'; '.join(describe_error(e) for e in wrong)}.",
        fix=_ENTRIES,
    )


def _make_form_error(
    place: list[str], first: Any, tried: Sequence[Any]
) -> JobError | None:
    """Return the error of a key that takes several forms; None for other keys."""
    if first["type"] == "extra_forbidden":
        return None
    section = place[:1]
    key = place[2:3]
    if section == ["aggregation"]:
        for wish in ("delta", "importance"):
            if wish in place:
                return _make_wish_error(wish, first)
        if key == ["keep"]:
            return _make_keep_error(first["input"], tried)
    if section == ["partition"] and key == ["attributes"]:
        return _make_blocks_error(first["input"])
    return None


def _get_key_place(place: list[str]) -> list[str]:
    """Return the place of the key that contains an entry."""
    return place[:3] if place[0] == CATEGORIES else place


def _select_first(wrong: Any) -> Any:
    """Return the entry to report first; for a missing key, its misspelling."""
    if wrong[0]["type"] != "missing":
        return wrong[0]
    *section, missing = wrong[0]["loc"]
    unknown = {
        str(e["loc"][-1]).lower(): e
        for e in wrong
        if e["type"] == "extra_forbidden" and list(e["loc"][:-1]) == section
    }
    near = get_close_matches(missing.lower(), unknown, n=1)
    return unknown[near[0]] if near else wrong[0]


_BESIDE = {  # sections whose values are published by methods of another section
    "aggregation": (CATEGORIES, "categories"),
    CATEGORIES: ("aggregation", "numbers"),
}
_ENTRIES = "correct those entries; `aggopt init` writes a commented job."
_OUTPUT = {
    "output.digits": "write a whole number of significant digits, from 2 to 15, or "
    'digits = "full".',
    "output.decimals": "write a whole number of decimals, from -15 to 15.",
}


def _describe_keys(section: Any, before: str = "") -> dict[str, str]:
    """Return what to write for each key of a section that its field describes."""
    descriptions = {}
    for name, key in section.model_fields.items():
        if key.description:
            descriptions[before + (key.alias or name)] = key.description
        for inner in get_args(key.annotation) or (key.annotation,):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                descriptions |= _describe_keys(inner, f"{before}{name}.")
    return descriptions


_WANTED = {**_OUTPUT, **_describe_keys(Privacy, "privacy.")}
for _category in CATEGORY_AGGREGATORS.values():
    _WANTED |= _describe_keys(_category.settings, f"{CATEGORIES}.{_category.name}.")
_WRITTEN = _describe_keys(Treatment)


def _make_method_error(section: str, name: str, job: Any) -> JobError:
    """Return the error of an unknown method, or of a method of another section."""
    names = list_methods(section, job)
    other, of = _BESIDE.get(section, ("", ""))
    if other and name in list_methods(other, job):
        return JobError(
            f"[{section}] method = {name!r} is of {of}.",
            fix=f"write it under [{other}]; here choose one of {', '.join(names)}.",
        )
    return UnknownNameError(f"{section} method", clip_text(name), names)


def _make_wish_error(wish: str, error: Any) -> JobError:
    bounds = "from 0 to 1" if wish == "importance" else "of 0 or more"
    return JobError(
        f"{describe_error({**error, 'loc': (wish,)})}{format_keys(error['input'])}.",
        fix=f"write a number {bounds}, {{ relative = r }}, {{ column = "
        '"NAME" }, or { attributes = { NAME = one of these, ... } }.',
    )


def _make_keep_error(entry: Any, tried: Any) -> JobError:
    """Return the error of an invalid `keep`, as a table if it resembles one."""
    for error in tried:
        if isinstance(error_text := error.get("ctx", {}).get("error"), JobError):
            return error_text
    return JobError(
        f"[aggregation] keep is {format_entry(entry)}{format_keys(entry)}.",
        fix=f'write "mean", "variance" or "covariance", {TABLE}, or {FORMULA}.',
    )


def _make_treatment_error(place: list[str], wrong: Any) -> JobError:
    """Return the error of an invalid order, tree or levels of an attribute."""
    of_it = [e for e in wrong if [str(part) for part in e["loc"][:4]] == place]
    deepest = max(of_it, key=lambda e: (len(e["loc"]), e["type"] == "too_short"))
    inside = any(isinstance(part, int) for part in deepest["loc"][4:])
    what = "is empty"
    if deepest["type"] != "too_short":
        what = f"{'names' if inside else 'is'} {format_entry(deepest['input'])}"
    where = ".".join(place[:3])
    key = place[3]
    return JobError(f"[{where}] {key} {what}.", fix=_WRITTEN[key])


def _make_blocks_error(entry: Any) -> JobError:
    if isinstance(entry, str):
        return UnknownNameError("way to group attributes", entry, WAYS)
    if isinstance(entry, dict) and list(entry) == ["correlation"]:
        return JobError(
            "partition.attributes.correlation is "
            f"{format_entry(entry['correlation'])}.",
            fix="write a number from 0 to 1.",
        )
    return JobError(
        f"partition.attributes is {format_entry(entry)}{format_keys(entry)}.",
        fix='write "together", "one by one", blocks of names [["NAME", ...], ...], or '
        "{ correlation = r } with r from 0 to 1.",
    )
