"""How a release was made, as far as the public may know, and how to use it."""

from collections.abc import Iterator
from typing import Any

from aggopt.core.plural import plural
from aggopt.job import Job
from aggopt.measure.safe_figures import FEW
from aggopt.release.report.facts import Facts
from aggopt.release.report.page import format_share
from aggopt.release.report.sections.registry import ReportSection

PUBLIC = (
    *("roles", "attributes", "missing", "privacy", "strata", "weights"),
    *("partition", "aggregation"),
)
HIDDEN = (
    "seed",
    "identifier",
    "unit",
    "wish",
    "drop",
    "keep_groups",
    "earlier",
    "person",
    "log",
    "order",  # levels of categories, and their trees, may name some that are not there
    "tree",
    "groups",
)

WEIGHTED = (
    "what is kept, lost and proven is by the sampling weights, and so are means, "
    "standard deviations and totals where the heading says so; distributions, how far "
    "values moved, correlations and the regression count each record once."
)
UNCHANGED = (
    "of masked numbers, as in the originals of these records but for rounding; other "
    "figures within the changes shown above."
)
MEANS = "of masked numbers, as in the originals of these records but for rounding."
EMPTY = (
    "They were missing in the originals, or are suppressed, where fewer than k would "
    "have shared what is missing: means, and what is kept, are of the values that are "
    "there."
)
COMPLETE = " Attacks and losses are of the records without any missing."
FILLED = (
    "They were missing in the originals, and have what their group publishes: means, "
    "variances and relations of these columns are not those of observed values."
)
SMALLER = "variances of masked numbers: they are smaller than in the originals"
MERGED = (
    "small strata were merged, so that records of a small stratum may be published "
    "under another; no group straddles the strata of the file."
)
SUBSETS = (
    "quantiles and extremes; relations within small subsets, which groups may "
    "straddle; whole numbers and codes, which may have become fractions."
)
DISTINCT = (
    "count distinct values, look for outliers, or treat equal records as duplicates: "
    "they are the groups."
)
ERRORS = (
    "trust standard errors that are computed as if the values were observed: they "
    "ignore the masking."
)


def format_job(job: Job) -> str:
    """Return a job as text, without seeds, paths and dropped columns."""
    import tomlkit

    sections = job.model_dump(mode="json", by_alias=True, exclude_none=True)
    sections["attributes"] = {
        name: section
        for name, section in sections.get("attributes", {}).items()
        if name in job.released_roles.published
    }
    shown = {
        name: _filter_section(sections[name]) for name in PUBLIC if name in sections
    }
    return tomlkit.dumps({n: s for n, s in shown.items() if s}).strip()


def _filter_section(section: Any) -> Any:
    """Return a section without keys that could identify, and without empty ones."""
    if isinstance(section, dict):
        entries = {
            k: _filter_section(v) for k, v in section.items() if not _is_hidden(k, v)
        }
        return {k: v for k, v in entries.items() if v not in ({}, [], "")}
    if isinstance(section, list):
        return [_filter_section(entry) for entry in section]
    if isinstance(section, str) and ".py:" in section:  # code of the user's
        return section.replace("\\", "/").rpartition("/")[2]
    return section


def _is_hidden(key: str, value: Any) -> bool:
    """Whether a key could identify, or names categories; costs of nodes name these."""
    return key in HIDDEN or (key == "cost" and isinstance(value, dict))


def list_advice(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield advice on a release: one word, and its subject."""
    if facts.columns:
        weighted = "weighted " if facts.job.roles.weight else ""
        yield from _describe_moments(facts, weighted)
    yield from _describe_missing(facts)
    yield "With care:", SUBSETS
    if any(name not in facts.columns for name in facts.names):
        yield "With care:", "rare categories, which their group may have replaced."
    if facts.audit.strata:
        strata = ", ".join(facts.audit.strata)
        if facts.job.strata.small == "merge":
            yield "With care:", f"comparisons between strata ({strata}): {MERGED}"
        else:
            text = f"comparisons between strata ({strata}): no group straddles them."
            yield "Safe:", text
    if facts.job.roles.weight:
        yield "By weight:", WEIGHTED
    yield "Do not:", DISTINCT
    yield "Do not:", ERRORS


def _describe_missing(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield what empty entries, or filled ones, are."""
    measured = COMPLETE if facts.measures else ""
    yield from _describe_filled(facts, measured)
    holes = facts.audit.missing
    if holes is not None and holes.cells:
        many_are = plural(holes.cells, "value")
        yield "Missing:", f"{many_are} of quasi-identifiers. {EMPTY}{measured}"


def _describe_filled(facts: Facts, measured: str) -> Iterator[tuple[str, str]]:
    """Yield which columns have values that were filled in, and how many."""
    if facts.filled:
        counts = ", ".join(f"{n} {format_count(c)}" for n, c in facts.filled.items())
        yield "Filled:", f"values were filled in: {counts}. {FILLED}{measured}"


def format_count(filled: int) -> str:
    """Return a count of originals; of fewer than ten no more than that."""
    return f"{filled:,}" if filled >= FEW else f"fewer than {FEW}"


def _describe_moments(facts: Facts, weighted: str) -> Iterator[tuple[str, str]]:
    """Yield advice on means and variances."""
    keeps = facts.job.aggregation.keeps
    moved = {*facts.filled, *facts.suppressed}
    names = [name for name in facts.columns if name in moved]
    if len(names) == len(facts.columns):
        return
    but = f" Not of {', '.join(names)}: see below." if names else ""
    recoded = [name for name in facts.recoded if name not in moved]
    if recoded:
        but += f" Of {', '.join(recoded)} they are those of the recoded values."
    if weighted and facts.job.weights.published == "drop":
        but += " The weights are not published."
    if "variance" in keeps:
        three = "means, variances and covariances"
        statistics = three if "covariance" in keeps else "means and variances"
        yield "Safe:", f"{weighted}{statistics} {UNCHANGED}{but}"
    elif "mean" in keeps:
        yield "Safe:", f"{weighted}means {MEANS}{but}"
        yield "Biased:", _describe_shrinkage(facts)


def _describe_shrinkage(facts: Facts) -> str:
    """Say how much smaller variances are: of group means by the information lost."""
    loss = facts.information_loss
    if loss is None or loss.numbers is None:
        return f"{SMALLER}."
    return (
        f"{SMALLER}, on average by {format_share(loss.numbers)} (the information lost)."
    )


ADVICE = ReportSection(
    name="advice",
    when="safe, biased and unsafe uses of the file",
    rank=80,
    content=lambda facts: list(list_advice(facts)),
    heading="Using the file",
    label="Using it",
    template="advice.html",
)
MADE = ReportSection(
    name="made",
    when="the job, the version, the day, the hash of the file, and a glossary",
    rank=90,
    content=lambda facts: format_job(facts.job),
    heading="How it was made",
    label="How made",
    template="made.html",
)
