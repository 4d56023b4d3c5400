"""How a release was made, as far as the public may know, and how to use it."""

from collections.abc import Collection, Iterator
from typing import Any

from aggopt.core.plural import many
from aggopt.job import Job
from aggopt.report.facts import Facts

PUBLIC = ("roles", "privacy", "strata", "weights", "partition", "aggregation")
HIDDEN = (
    "seed",
    "identifier",
    "unit",
    "wish",
    "keep_groups",
    "earlier",
    "person",
    "log",
)

WEIGHTED = (
    "what is kept, lost and proven is by the sampling weights; distributions, means, "
    "correlations and the regression of this page count each record once."
)
UNCHANGED = (
    "of masked numbers, as in the originals but for rounding; other figures within the "
    "changes shown above."
)
MEANS = "of masked numbers, as in the originals but for rounding."
EMPTY = (
    "They were missing in the originals, or are suppressed, where fewer than k would "
    "have shared what is missing: means, and what is kept, are of the values that are "
    "there."
)
COMPLETE = " Attacks and losses are of the records without any missing."
FILLED = (
    "what was missing in the originals has what its group publishes: variances and "
    "relations are not those of values that somebody observed."
)
SMALLER = (
    "variances of masked numbers: they are smaller than in the originals, by the "
    "information lost."
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


def job_text(job: Job) -> str:
    """Return what a job asks for, without seeds, paths and what was dropped."""
    import tomlkit

    sections = job.model_dump(mode="json", by_alias=True, exclude_none=True)
    shown = {name: _shown(sections[name]) for name in PUBLIC if name in sections}
    return tomlkit.dumps({n: s for n, s in shown.items() if s}).strip()


def _shown(section: Any) -> Any:
    """Return a section without what tells more than how, and without what is empty."""
    if isinstance(section, dict):
        made = {k: _shown(v) for k, v in section.items() if k not in HIDDEN}
        return {k: v for k, v in made.items() if v not in ({}, [], "")}
    if isinstance(section, list):
        return [_shown(entry) for entry in section]
    if isinstance(section, str) and ".py:" in section:  # code of the user's
        return section.replace("\\", "/").rpartition("/")[2]
    return section


def advice(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield what to do with a release: one word, and what it is about."""
    if facts.columns:
        weighted = "weighted " if facts.job.roles.weight else ""
        yield from _of_moments(facts.job.aggregation.keeps, weighted)
    yield from _of_missing(facts)
    yield "With care:", SUBSETS
    if any(name not in facts.columns for name in facts.names):
        yield "With care:", "rare categories, which their group may have replaced."
    if facts.audit.strata:
        strata = ", ".join(facts.audit.strata)
        said = f"comparisons between strata ({strata}): no group straddles them."
        yield "Safe:", said
    if facts.job.roles.weight:
        yield "By weight:", WEIGHTED
    yield "Do not:", DISTINCT
    yield "Do not:", ERRORS


def _of_missing(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield what empty entries, or filled ones, are."""
    holes = facts.audit.missing
    if holes is None:
        return
    if holes.cells:
        measured = COMPLETE if facts.measures else ""
        many_are = many(holes.cells, "value")
        yield "Missing:", f"{many_are} of quasi-identifiers. {EMPTY}{measured}"
    if holes.imputed:
        yield "Filled:", FILLED


def _of_moments(keeps: Collection[str], weighted: str) -> Iterator[tuple[str, str]]:
    """Yield what may be done with means and variances, of which some are kept."""
    if "variance" in keeps:
        three = "means, variances and covariances"
        kept = three if "covariance" in keeps else "means and variances"
        yield "Safe:", f"{weighted}{kept} {UNCHANGED}"
    elif "mean" in keeps:
        yield "Safe:", f"{weighted}means {MEANS}"
        yield "Biased:", SMALLER
