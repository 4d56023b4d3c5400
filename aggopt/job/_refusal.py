"""Error messages for invalid jobs, with their corrections."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic import ValidationError as Invalid

from aggopt.aggregate import AGGREGATORS, CATEGORY_AGGREGATORS
from aggopt.aggregate.kept_statistics import FORMULA, TABLE, list_plain_statistics
from aggopt.core.plural import join_names
from aggopt.errors import JobError, UnknownNameError
from aggopt.job._privacy import Privacy, Treatment
from aggopt.partition.shared.settings import WAYS
from aggopt.repair.registry import REPAIRS

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
    absent = [str(e["loc"][0]) for e in wrong if _is_absent_section(e)]
    if len(absent) == len(wrong):
        sections = join_names([f"[{name}]" for name in absent], len(absent))
        example = " with k = 5" if "privacy" in absent else ""
        return JobError(
            f"The job has no {sections}.",
            fix=f"add {sections}{example}; `aggopt init` writes a commented job.",
        )
    return JobError(
        f"The job cannot be used: {'; '.join(describe_error(e) for e in wrong)}.",
        fix=_ENTRIES,
    )


def _is_absent_section(error: Any) -> bool:
    """Return whether the error is that of a whole section which the job lacks."""
    return error["type"] == "missing" and error["loc"] in (("roles",), ("privacy",))


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
            return _make_keep_error(place[1], first["input"], tried)
    if section == ["partition"] and key == ["attributes"]:
        return _make_blocks_error(first["input"])
    if section == ["partition"] and key == ["bound"]:
        return JobError(
            f"[partition] bound is {format_entry(first['input'])}.",
            fix="write 'quick', 'none', or a number of seconds, 0 or more.",
        )
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
    """Return the error of an invalid requested distance."""
    bounds = "from 0 to 1" if wish == "importance" else "of 0 or more"
    return JobError(
        f"{describe_error({**error, 'loc': (wish,)})}{format_keys(error['input'])}.",
        fix=f"write a number {bounds}, {{ relative = r }}, {{ column = "
        '"NAME" }, or { attributes = { NAME = one of these, ... } }.',
    )


def _make_keep_error(method: str, entry: Any, tried: Any) -> JobError:
    """Return the error of an invalid `keep`, as a table if it resembles one."""
    for error in tried:
        if isinstance(error_text := error.get("ctx", {}).get("error"), JobError):
            return error_text
    section: Any = AGGREGATORS[method].settings
    names = [f'"{name}"' for name in list_plain_statistics(section.able)]
    return JobError(
        f"[aggregation] keep is {format_entry(entry)}{format_keys(entry)}.",
        fix=f"write {', '.join(names[:-1])} or {names[-1]}, {TABLE}, or {FORMULA}.",
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
    """Return the error of invalid blocks of attributes."""
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


def suggest_key(place: list[str], job: Any) -> JobError:
    """Suggest the nearest key in the section of an unknown key."""
    section: Any = job
    for part in place[:-1]:
        section = find_part(section, part)
    keys = list_keys(section)
    tables = place[:1] if place[0] in CHOOSING else place[:-1]
    where = f"[{'.'.join(tables)}]" if place[1:] else "the job"
    if tables == ["privacy"] and (able := _list_repairs(place[-1])):
        return _explain_repair(place[-1], able)
    if place[0] == "partition" and place[-1] == "initial_labels":
        return _explain_labels()
    if place[0] == CATEGORIES and place[-1] == "keep":
        return _explain_categories()
    if place[0] in CHOOSING and (able := _list_able(place, job)):
        return _explain_method(place, able)
    return UnknownNameError(f"key of {where}", place[-1], keys)


def _explain_labels() -> JobError:
    """Return the error of `labels`, which a job cannot hold."""
    return JobError(
        "[partition] initial_labels is no key of a job: labels of groups are passed in "
        "Python.",
        fix='write initial = "mdav", the method that makes the groups which the search '
        "sets out from; or call aggopt.partition.local_search with initial_labels.",
    )


def _explain_categories() -> JobError:
    """Return the error of a misplaced section of categories."""
    return JobError(
        f"[{CATEGORIES}] takes no keep: mean, variance and covariance are of numbers.",
        fix='write it under [aggregation]; method = "frequencies" keeps how often '
        "categories occur.",
    )


def _list_able(place: list[str], job: Any) -> list[str]:
    """Return the methods that take a key of this name, where one does not."""
    if len(place) != 3:  # not a key of the method itself
        return []
    choices = find_part(job, place[0])
    return [get_method(c) for c in choices if place[2] in list_keys(c)]


def _explain_method(place: list[str], able: list[str]) -> JobError:
    """Return the error that a method does not take a key, with the methods that do."""
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


def _list_repairs(key: str) -> list[str]:
    """Return the repairs that take a key of this name."""
    return [n for n, r in REPAIRS.items() if key in r.settings.model_fields]


def _explain_repair(key: str, able: list[str]) -> JobError:
    """Return the error that a key of [privacy] belongs to the repair."""
    return JobError(
        f"[privacy] takes no {key}: it is a key of [privacy.repair].",
        fix=f"write it there: repair = {{ method = one of {', '.join(able)}, "
        f"{key} = ... }}.",
    )


def find_part(section: Any, part: str) -> Any:
    """Return a part of a section: a key's type, or all sections that it may hold."""
    if part == CATEGORIES:  # alike under each method of its section
        return find_part(find_part(section, "aggregation")[0], "categories")
    if isinstance(section, tuple):  # the methods that a section may name
        return next(choice for choice in section if get_method(choice) == part)
    if isinstance(section, dict):  # of sections that the user names
        return section["any"]
    kind = section.model_fields[part].annotation
    if get_origin(kind) is dict:
        return {"any": get_args(kind)[1]}
    choices = _list_choices(kind)
    return choices[0] if len(choices) == 1 else choices or kind


def _list_choices(kind: Any) -> tuple[Any, ...]:
    """Return the types that a field may have, None left out; () of a plain one."""
    if get_origin(kind) is Annotated:
        return _list_choices(get_args(kind)[0])
    choices = tuple(c for c in get_args(kind) if c is not type(None))
    if len(choices) == 1:  # it may be left out
        return _list_choices(choices[0]) or choices
    return choices


def get_method(section: Any) -> str:
    """Return the name of the method that a section is of."""
    return str(get_args(section.model_fields["method"].annotation)[0])


def list_methods(section: str, job: Any) -> list[str]:
    """Return the names of all methods of a section of a job, by its name."""
    return [get_method(choice) for choice in find_part(job, section)]


def list_keys(section: Any) -> list[str]:
    """Return the keys of a section as a job file has them."""
    return [field.alias or name for name, field in section.model_fields.items()]
