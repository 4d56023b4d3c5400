"""Checks of tables of keys, and of the other settings of a job that has some."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Protocol

from aggopt.errors import JobError, require_known
from aggopt.job._privacy import Privacy
from aggopt.job._section import AttributeSection, Missing
from aggopt.job.roles import Roles


class JobSections(Protocol):
    """The sections that tables of keys depend on."""

    roles: Roles
    privacy: Privacy
    missing: Missing
    attributes: dict[str, AttributeSection]
    partition: Any
    aggregation: Any


def require_key_tables(job: JobSections) -> None:
    """Refuse tables of keys without effect, and settings that contradict them.

    Raises
    ------
    JobError
        A column is unknown or named twice, a table is part of another one; or the job
        has units, sampling weights, or other settings that suppression does not
        support.
    """
    tables = job.privacy.keys
    if tables is None:
        return
    for table in tables:
        for name in table:
            require_known("quasi-identifier", name, job.roles.quasi_identifier)
        if not table or len(set(table)) < len(table):
            raise JobError(
                "[privacy] keys has a table that is empty, or names a column twice.",
                fix='name each column once: keys = [["region", "sex"]].',
            )
    for one, other in combinations(map(set, tables), 2):
        if one <= other or other <= one:
            raise JobError(
                "[privacy] keys has a table that is part of another one, which has k "
                "records in each combination anyway.",
                fix="leave the smaller table out.",
            )
    for problem, fix in _iter_unsupported(job):
        raise JobError(f"[privacy] keys are given, and {problem}.", fix=fix)


def _iter_unsupported(job: JobSections) -> Iterator[tuple[str, str]]:
    """Yield each setting that suppression does not support, and what to write."""
    key_names = {name for table in job.privacy.keys or () for name in table}
    rest = [name for name in job.roles.quasi_identifier if name not in key_names]
    if job.missing.policy != "patterns":
        yield (
            f'[missing] policy = "{job.missing.policy}"',
            'set policy = "patterns": suppressed values are published as missing.',
        )
    for role in ("unit", "weight"):
        if getattr(job.roles, role):
            yield f"the role {role}", f"list the columns of {role} as drop."
    if getattr(job.partition, "attributes", "together") != "together":
        yield "[partition] attributes", "leave attributes out."
    if hasattr(job.partition, "keep_groups"):
        yield "[partition] keep_groups", "leave keep_groups out."
    is_named = job.partition.method != "recommended" or getattr(
        job.partition, "time_limit", None
    )
    if not rest and is_named:
        yield (
            "[partition], although they name all quasi-identifiers",
            "leave [partition] out: nothing is left to group.",
        )
    categories = job.aggregation.categories
    if categories is not None and categories.method != "plurality":
        yield (
            f"[aggregation.categories] method = {categories.method!r}",
            "leave it out: keys publish their own categories.",
        )
    for name, section in job.attributes.items():
        if name in key_names and (section.rare or section.publish != "leaf"):
            yield (
                f"[attributes.{name}] rare or publish",
                "leave both out: values of keys are published or suppressed.",
            )
