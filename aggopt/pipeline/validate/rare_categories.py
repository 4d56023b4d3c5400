"""Check a job's treatment of categories that fewer than k originals have."""

from aggopt.core.plural import plural
from aggopt.core.types import I64
from aggopt.data.context.rare_categories import (
    count_originals_by_node,
)
from aggopt.data.table import Table
from aggopt.encoding import Domain
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.job import Job
from aggopt.pipeline.prepare.category_settings import _counts

MOST = 0.5  # of the originals: more than half are then in categories of fewer than k


def require_rare(job: Job, table: Table) -> None:
    """Refuse rare categories that a job cannot avoid, or publishes unawares.

    Raises
    ------
    JobError, TableError, InfeasibleInputError
        As `require_categories` and `require_frequent`.
    """
    require_categories(job, frozenset(table.domains))
    for name, domain in table.domains.items():
        require_frequent(job, name, domain, _counts(table, name, domain))


def require_categories(job: Job, names: frozenset[str]) -> None:
    """Refuse a treatment of rare categories that no method supports.

    `names` are the quasi-identifiers that are categories.

    Raises
    ------
    JobError
        The attribute is a number or a date; or the method publishes each level as often
        as before, or combinations.
    """
    how = job.aggregation.categories
    for name, section in job.attributes.items():
        if section.rare is None or name not in job.roles.quasi_identifier:
            continue
        if name not in names:
            raise JobError(
                f'[attributes.{name}] rare = "{section.rare}" is of categories, and '
                f"{name!r} is a number or a date.",
                fix='leave it out; or write kind = "nominal", where numbers are codes.',
            )
        plain = how is None or (
            how.method == "plurality" and not getattr(how, "occurring", False)
        )
        if section.rare == "avoid" and not plain:
            raise JobError(
                f'[attributes.{name}] rare = "avoid" is done by plurality, each '
                "category by itself, and [aggregation.categories] asks for another "
                "method.",
                fix="leave [aggregation.categories] out, or leave rare out.",
            )


def require_frequent(job: Job, name: str, domain: Domain, counts: I64) -> None:
    """Refuse a categorical attribute if most originals have a rare value.

    `counts` (m,) are the originals of each level.

    Raises
    ------
    TableError
        More than half of the originals have a value that fewer than k have, and the job
        does not specify their treatment.
    InfeasibleInputError
        They are to be avoided, and no value may be published.
    """
    k, section = job.privacy.k, job.attributes.get(name)
    publish = section.publish if section else "leaf"
    asked = section.rare if section else None
    if asked == "publish" or publish == "ancestor":  # true of a whole group
        return
    if asked == "avoid":
        nodes = count_originals_by_node(counts, domain)
        if (nodes[: domain.m] if publish == "leaf" else nodes).max() < k:
            raise InfeasibleInputError(
                f"{name!r}: no value is had by k = {k} originals, and rare values are "
                "to be avoided.",
                fix="drop the attribute, as identifier; give it a tree and publish = "
                '"node"; or choose a smaller k.',
            )
        return
    rare, total = int(counts[counts < k].sum()), int(counts.sum())
    if k <= total and rare > MOST * total:
        raise TableError(
            f"{name!r}: {rare} of {plural(total, 'entry', 'entries')} are values that "
            f"fewer than k = {k} originals have, which masking would publish.",
            fix="drop the attribute, as identifier, or give it a tree; under "
            f'[attributes.{name}] rare = "avoid" publishes frequent values alone, and '
            'rare = "publish" takes the risk.',
        )
