"""Jobs that the page shows and does not run: with code, earlier groups or an engine."""

from collections.abc import Iterator, Mapping
from typing import Any

from aggopt.app.job_text import get_table, parse_sections
from aggopt.errors import JobError

COMMAND = "use the command line: aggopt mask."


def find_unsupported_setting(text: str) -> JobError | None:
    """Return the error for a setting that the page does not run, or None."""
    sections = parse_sections(text)
    named = next(_iterate_code(sections), None)
    if named is not None:
        return JobError(
            f"The job names code: {named!r}. The page runs none.",
            fix="use the command line with --trust.",
        )
    earlier = {"keep_groups", "earlier"} & set(get_table(sections, "partition"))
    if earlier:
        return JobError(
            f"The job keeps the groups of an earlier release ({min(earlier)}).",
            fix=COMMAND,
        )
    if get_table(sections, "engine").get("name", "memory") != "memory":
        return JobError(
            "The job names an engine, and the page masks one file in memory.",
            fix=COMMAND,
        )
    return None


def _iterate_code(value: Any) -> Iterator[str]:
    """Yield the names of code in the values of a job: FILE.py, or FILE.py:NAME."""
    if isinstance(value, str) and (value.endswith(".py") or ".py:" in value):
        yield value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            if name not in ("roles", "attributes"):
                yield from _iterate_code(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _iterate_code(entry)
