"""Error messages for unknown keys in the sections of a job."""

from typing import Annotated, Any, get_args, get_origin

from aggopt.errors import JobError, UnknownNameError
from aggopt.job._error_text import CATEGORIES, CHOOSING
from aggopt.repair.registry import REPAIRS


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
    return JobError(
        "[partition] initial_labels is no key of a job: labels of groups are passed in "
        "Python.",
        fix='write initial = "mdav", the method that makes the groups which the search '
        "sets out from; or call aggopt.partition.local_search with initial_labels.",
    )


def _explain_categories() -> JobError:
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


def _list_repairs(key: str) -> list[str]:
    """Return the repairs that take a key of this name."""
    return [n for n, r in REPAIRS.items() if key in r.settings.model_fields]


def _explain_repair(key: str, able: list[str]) -> JobError:
    """Say that a key of [privacy] is one of the repair."""
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
