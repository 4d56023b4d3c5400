"""The columns of the released file, with their roles and treatments."""

from aggopt.aggregate import AGGREGATORS
from aggopt.core.plural import join_names
from aggopt.release.report.facts import Facts
from aggopt.release.report.page import DataTable, FoldedTable
from aggopt.release.report.sections.provenance import format_count
from aggopt.release.report.sections.registry import ReportSection

SHOWN = 20  # rows that are seen at once; the others are folded
KNOWN = "published unchanged; others may know it of a person"
SECRET = "published unchanged; assumed unknown to others"
PSEUDONYM = "a random number for each unit"


STATEMENTS = {  # that are true of all records of a group
    "ancestor": "its lowest common name in the tree",
    "suppress": "the value that all its records share, or *",
    "interval": "the cut points around its values",
    "range": "from its least to its largest value, which are those of two members",
}


def list_columns(facts: Facts) -> tuple[DataTable | FoldedTable, ...]:
    """Return the columns of the file in its order: a table, and a folded one.

    Columns that were left out of the file are not named: names may reveal contents.
    """
    roles = {name: role for role, names in facts.job.released_roles for name in names}
    rows = [
        [name, roles[name], _describe_treatment(facts, name, roles[name])]
        for name in facts.released.frame.columns
    ]
    if not rows[SHOWN:]:
        return (_make_table(rows),)
    folded = FoldedTable("All other columns", _make_table(rows[SHOWN:]))
    return _make_table(rows[:SHOWN]), folded


def _make_table(rows: list[list[str]]) -> DataTable:
    return DataTable("Role of each column", ["column", "role", "what was done"], rows)


def _describe_treatment(facts: Facts, name: str, role: str) -> str:
    if role == "quasi-identifier":
        return _describe_masking(facts, name)
    if role == "stratum":
        merged = facts.job.strata.small == "merge"
        strata_text = "small strata merged" if merged else "published unchanged"
        return f"{strata_text}; no group straddles its values"
    if role == "weight":
        as_is = facts.job.weights.published == "as is"
        return "published unchanged" if as_is else "replaced by the mean of its group"
    return {"confidential": SECRET, "other": KNOWN, "unit": PSEUDONYM}[role]


def _describe_masking(facts: Facts, name: str) -> str:
    """Say how a quasi-identifier was masked: method, bounds, and values filled in."""
    job = facts.job
    aggregation = job.aggregation
    section = job.attributes.get(name)
    parts = [f"masked: one {_name_value(facts, name)} for each group"]
    if section is not None and section.is_truthful:
        parts = [f"masked: true of each group, {STATEMENTS[section.publish]}"]
    if name in job.key_columns:
        parts = ["a key: values of rare combinations suppressed"]
    if section is not None and section.is_recoded:
        parts[:0] = ["recoded before: " + ", ".join(section.describe_recoding())]
    if section is not None and section.lower is not None:
        parts.append(f"at least {section.lower:g}")
    if section is not None and section.upper is not None:
        parts.append(f"at most {section.upper:g}")
    if section is not None and section.integer:
        parts.append("whole numbers")
    if name in facts.columns and aggregation.method in AGGREGATORS:
        statistics = [
            statistic
            for statistic in ("mean", "variance", "covariance")
            if statistic in aggregation.keeps
        ]
        parts += (
            [f"keeps {join_names(statistics, len(statistics))}"] if statistics else []
        )
    if name in facts.filled:
        parts.append(f"{format_count(facts.filled[name])} missing values filled in")
    if name in facts.rare:
        counted = "units" if job.roles.unit else "originals"
        few = f"categories of fewer than k = {job.privacy.k} {counted}"
        parts.append(f"{format_count(facts.rare[name])} published {few}")
    return "; ".join(parts)


def _name_value(facts: Facts, name: str) -> str:
    """Return the word for a published value of an attribute."""
    if name in facts.columns:
        method = facts.job.aggregation.method
        return "value" if method == "mean" else f"value by {method}"
    return "category"


COLUMNS = ReportSection(
    name="columns",
    when="every column of the file, its role and its treatment",
    rank=20,
    content=list_columns,
    heading="Columns of the file",
    label="Columns",
)
