"""What is wrong with a job, said so that it can be corrected."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic import ValidationError as Invalid

from aggopt.aggregate import CATEGORY_AGGREGATORS
from aggopt.aggregate._keeping import FORMULA, TABLE
from aggopt.errors import JobError, UnknownNameError
from aggopt.job._privacy import Privacy, Treatment
from aggopt.job._said import CATEGORIES, CHOOSING, clipped, entries, keys, seen, shown
from aggopt.partition._shared.settings import WAYS
from aggopt.repair._registry import REPAIRS


def refusal(invalid: Invalid, job: type[BaseModel]) -> JobError:
    """Return the error that says what is wrong with the sections of a `job`."""
    return refused(invalid.errors(include_url=False), job)


def refused(tried: Sequence[Any], job: type[BaseModel]) -> JobError:
    """Return the same of entries that are wrong, as pydantic tells them."""
    wrong = entries(tried)
    first = _telling(wrong)
    place = [str(part) for part in first["loc"]]
    said = first.get("ctx", {}).get("error")
    if isinstance(said, JobError):
        return said
    if place[:1] == ["aggregation"] and first["type"] != "extra_forbidden":
        for wish in ("delta", "importance"):
            if wish in place:
                return _no_wish(wish, first)
    kept = place[:1] == ["aggregation"] and place[2:3] == ["keep"]
    if kept and first["type"] != "extra_forbidden":
        return _no_keep(first["input"], tried)
    blocks = place[:1] == ["partition"] and place[2:3] == ["attributes"]
    if blocks and first["type"] != "extra_forbidden":
        return _no_blocks(first["input"])
    match first["type"]:
        case "extra_forbidden":
            return _unknown_key(place, job)
        case "union_tag_invalid":
            return _no_method(place[0], first["ctx"]["tag"], job)
        case "union_tag_not_found":
            return JobError(
                f"[{place[0]}] names no method.",
                fix=f"add method = one of {', '.join(_methods(place[0], job))}.",
            )
        case "greater_than_equal" | "greater_than" | "less_than" if (
            wanted := _WANTED.get(".".join(place))
        ):
            return JobError(f"{place[-1]} = {shown(first['input'])}.", fix=wanted)
        case kind if kind != "value_error" and place[3:4] and place[3] in _WRITTEN:
            return _no_treatment(place[:4], tried)
        case "value_error" if place[:1] == ["privacy"]:
            complaint = first["msg"].removeprefix("Value error, ")
            return JobError(f"[{'.'.join(place)}]: {complaint}.", fix=_ENTRIES)
        case _ if wanted := _WANTED.get(".".join(_key(place))):
            return JobError(f"{seen(first)}.", fix=wanted)
    return JobError(
        f"The job cannot be used: {'; '.join(seen(e) for e in wrong)}.",
        fix=_ENTRIES,
    )


def _key(place: list[str]) -> list[str]:
    """Return where the key stands that an entry is of, or is one entry of."""
    return place[:3] if place[0] == CATEGORIES else place


def _telling(wrong: Any) -> Any:
    """Return what to say first: of a key that is missing, how it is misspelled."""
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


_BESIDE = {  # what is published by the methods of another section
    "aggregation": (CATEGORIES, "categories"),
    CATEGORIES: ("aggregation", "numbers"),
}
_ENTRIES = "correct those entries; `aggopt init` writes a commented job."
_OUTPUT = {
    "output.digits": "write a whole number of significant digits, from 2 to 15, or "
    'digits = "full".',
    "output.decimals": "write a whole number of decimals, from -15 to 15.",
}
RENAMED = {
    "seconds": "time_limit",
    "start": "initial",
    "gap": "gap_tol",
    "renormalise": "keep",
}
WRITTEN = {"renormalise": 'keep = "variance"'}  # with its value, where that is new


def _described(section: Any, before: str = "") -> dict[str, str]:
    """Return what to write for each key of a section that its field describes."""
    found = {}
    for name, key in section.model_fields.items():
        if key.description:
            found[before + (key.alias or name)] = key.description
        for inner in get_args(key.annotation) or (key.annotation,):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                found |= _described(inner, f"{before}{name}.")
    return found


_WANTED = {**_OUTPUT, **_described(Privacy, "privacy.")}
for _category in CATEGORY_AGGREGATORS.values():
    _WANTED |= _described(_category.settings, f"{CATEGORIES}.{_category.name}.")
_WRITTEN = _described(Treatment)


def _no_method(section: str, name: str, job: Any) -> JobError:
    """Say that a section has no such method, or that another section has it."""
    known = _methods(section, job)
    other, of = _BESIDE.get(section, ("", ""))
    if other and name in _methods(other, job):
        return JobError(
            f"[{section}] method = {name!r} is of {of}.",
            fix=f"write it under [{other}]; here choose one of {', '.join(known)}.",
        )
    return UnknownNameError(f"{section} method", clipped(name), known)


def _no_wish(wish: str, error: Any) -> JobError:
    most = "from 0 to 1" if wish == "importance" else "of 0 or more"
    return JobError(
        f"{seen({**error, 'loc': (wish,)})}{keys(error['input'])}.",
        fix=f"write a number {most}, {{ relative = r }}, {{ column = "
        '"NAME" }, or { attributes = { NAME = one of these, ... } }.',
    )


def _no_keep(given: Any, tried: Any) -> JobError:
    """Say what is wrong with `keep`: with a table, if it could be read as one."""
    for error in tried:
        if isinstance(said := error.get("ctx", {}).get("error"), JobError):
            return said
    return JobError(
        f"[aggregation] keep is {shown(given)}{keys(given)}.",
        fix=f'write "mean", "variance" or "covariance", {TABLE}, or {FORMULA}.',
    )


def _no_treatment(place: list[str], wrong: Any) -> JobError:
    """Say what is wrong with the order, tree or levels of an attribute."""
    of_it = [e for e in wrong if [str(part) for part in e["loc"][:4]] == place]
    deepest = max(of_it, key=lambda e: (len(e["loc"]), e["type"] == "too_short"))
    inside = any(isinstance(part, int) for part in deepest["loc"][4:])
    what = "is empty"
    if deepest["type"] != "too_short":
        what = f"{'names' if inside else 'is'} {shown(deepest['input'])}"
    where, key = ".".join(place[:3]), place[3]
    return JobError(f"[{where}] {key} {what}.", fix=_WRITTEN[key])


def _no_blocks(given: Any) -> JobError:
    if isinstance(given, str):
        return UnknownNameError("way to group attributes", given, WAYS)
    if isinstance(given, dict) and list(given) == ["correlation"]:
        return JobError(
            f"partition.attributes.correlation is {shown(given['correlation'])}.",
            fix="write a number from 0 to 1.",
        )
    return JobError(
        f"partition.attributes is {shown(given)}{keys(given)}.",
        fix='write "together", "one by one", blocks of names [["NAME", ...], ...], or '
        "{ correlation = r } with r from 0 to 1.",
    )


def _unknown_key(place: list[str], job: Any) -> JobError:
    """Suggest the nearest key of the section that the unknown one stands in."""
    section: Any = job
    for part in place[:-1]:
        section = _inner(section, part)
    known = _keys(section)
    tables = place[:1] if place[0] in CHOOSING else place[:-1]
    where = f"[{'.'.join(tables)}]" if place[1:] else "the job"
    new = RENAMED.get(place[-1])
    if new in known or (new and place[:2] == ["partition", "recommended"]):
        return JobError(
            f"{where} {place[-1]} is called {new} now.",
            fix=f"write {WRITTEN.get(place[-1], new)} in its place.",
        )
    if tables == ["privacy"] and (able := _repairs(new or place[-1])):
        return _of_repair(place[-1], new, able)
    if place[0] == "partition" and place[-1] == "initial_labels":
        return _no_labels()
    if place[0] == CATEGORIES and place[-1] == "keep":
        return _not_of_categories()
    if place[0] in CHOOSING and (able := _able(place, job)):
        return _not_of_method(place, able)
    return UnknownNameError(f"key of {where}", place[-1], known)


def _no_labels() -> JobError:
    return JobError(
        "[partition] initial_labels is no key of a job: labels of groups are passed in "
        "Python.",
        fix='write initial = "mdav", the method that makes the groups which the search '
        "sets out from; or call aggopt.partition.local_search with initial_labels.",
    )


def _not_of_categories() -> JobError:
    return JobError(
        f"[{CATEGORIES}] takes no keep: mean, variance and covariance are of numbers.",
        fix='write it under [aggregation]; method = "frequencies" keeps how often '
        "categories occur.",
    )


def _able(place: list[str], job: Any) -> list[str]:
    """Return the methods that take a key of this name, where one does not."""
    if len(place) != 3:  # not a key of the method itself
        return []
    choices = _inner(job, place[0])
    return [_method(c) for c in choices if place[2] in _keys(c)]


def _keys(section: Any) -> list[str]:
    return [field.alias or name for name, field in section.model_fields.items()]


def _not_of_method(place: list[str], able: list[str]) -> JobError:
    """Say that a method does not take a key, and which do."""
    section, method, key = place
    if method == "recommended":
        return JobError(
            f"[{section}] sets {key} and names no method.",
            fix=f"add method = one of {', '.join(able)}, which have it; or leave "
            f"{key} out.",
        )
    return JobError(
        f"[{section}] method = {method!r} takes no {key}.",
        fix=f"leave {key} out, or choose a method that takes it: {', '.join(able)}.",
    )


def _repairs(key: str) -> list[str]:
    return [n for n, r in REPAIRS.items() if key in r.settings.model_fields]


def _of_repair(key: str, new: str | None, able: list[str]) -> JobError:
    """Say that a key of [privacy] is one of the repair, under this or a new name."""
    now = f"it is called {new} now, a key" if new else "it is a key"
    return JobError(
        f"[privacy] takes no {key}: {now} of [privacy.repair].",
        fix=f"write it there: repair = {{ method = one of {', '.join(able)}, "
        f"{new or key} = ... }}.",
    )


def _inner(section: Any, part: str) -> Any:
    if part == CATEGORIES:  # alike under each method of its section
        return _inner(_inner(section, "aggregation")[0], "categories")
    if isinstance(section, tuple):  # the methods that a section may name
        return next(choice for choice in section if _method(choice) == part)
    if isinstance(section, dict):  # of sections that the user names
        return section["any"]
    kind = section.model_fields[part].annotation
    if get_origin(kind) is dict:
        return {"any": get_args(kind)[1]}
    choices = _choices(kind)
    return choices[0] if len(choices) == 1 else choices or kind


def _choices(kind: Any) -> tuple[Any, ...]:
    """Return the types that a field may have, None left out; () of a plain one."""
    if get_origin(kind) is Annotated:
        return _choices(get_args(kind)[0])
    choices = tuple(c for c in get_args(kind) if c is not type(None))
    if len(choices) == 1:  # it may be left out
        return _choices(choices[0]) or choices
    return choices


def _method(section: Any) -> str:
    return str(get_args(section.model_fields["method"].annotation)[0])


def _methods(section: str, job: Any) -> list[str]:
    return [_method(choice) for choice in _inner(job, section)]
