"""Settings of a job for the categories of its table."""

from collections.abc import Hashable

import numpy as np

from aggopt.core.types import I64
from aggopt.data.context.rare_categories import count_by_level, find_rare_nodes
from aggopt.data.context.units import read_units
from aggopt.data.parsing.categories import find_missing_entries, find_nodes
from aggopt.data.table import Table
from aggopt.encoding import Domain
from aggopt.job import Job
from aggopt.pipeline.prepare.attribute_blocks import Columns


def publishable_nodes(job: Job, name: str) -> str:
    """Return which nodes of a category may be published."""
    stated = job.attributes.get(name)
    return stated.publish if stated else "leaf"


def categories_by_block(job: Job, table: Table, columns: Columns) -> list[list[str]]:
    """Return the categories among the attributes of each block."""
    names = job.roles.quasi_identifier
    blocks = [[names[j] for j in block] for block in columns]
    return [[name for name in block if name in table.domains] for block in blocks]


def find_avoided_nodes(
    job: Job, name: str, domain: Domain, counts: I64
) -> frozenset[Hashable]:
    """Return the nodes of a category that the job publishes for no group, by name."""
    if not _avoids(job, name):
        return frozenset()
    return find_rare_nodes(counts, domain, job.privacy.k)


def find_avoided_nodes_of_table(
    job: Job, table: Table, name: str
) -> frozenset[Hashable]:
    """Return the nodes of a table's category that no group may publish."""
    if not _avoids(job, name):
        return frozenset()
    domain = table.domains[name]
    return find_avoided_nodes(job, name, domain, _counts(table, name, domain))


def _avoids(job: Job, name: str) -> bool:
    section = job.attributes.get(name)
    return section is not None and section.rare == "avoid"


def _counts(table: Table, name: str, domain: Domain) -> I64:
    """Return how many records, or units, have each level (m,)."""
    column = table.frame[name]
    codes = find_nodes(column, domain)
    if name in table.kept:
        codes = np.where(find_missing_entries(column), -1, codes)
    return count_by_level(codes, domain, read_units(table))
