"""Figures by which a guideline judges: guaranteed by a job, or counted on a release."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aggopt.core.plural import plural
from aggopt.job import Job
from aggopt.pipeline.review.review_release import Review
from aggopt.release.audit.counts import Count


@dataclass(frozen=True)
class Finding:
    """A figure of a job or of a release.

    Attributes
    ----------
    value
        The figure; None if nothing guarantees or measures it.
    words
        How the job guarantees it, or where it was counted, as a sentence.
    open
        Whether a missing value is undecided; otherwise it misses a bound.
    """

    value: float | None
    words: str
    open: bool = False


@dataclass(frozen=True)
class GuidelineFigure:
    """A figure with its two sources.

    Attributes
    ----------
    of_job, of_release
        Return what a job guarantees, and what a release has.
    """

    of_job: Callable[[Job], Finding]
    of_release: Callable[[Job, Review], Finding]


def _is_combined(job: Job) -> bool:
    """Whether k counts records that are equal in all quasi-identifiers together."""
    return bool(job.privacy.scope == "combination")


def _guarantee(job: Job, *keys: str) -> Finding:
    """Return the lowest limit of a risk that k and these keys of the job guarantee."""
    privacy = job.privacy
    limits = [
        (getattr(privacy, key), f"{key} = {getattr(privacy, key):g}")
        for key in keys
        if getattr(privacy, key) is not None
    ]
    if _is_combined(job):
        limits.append((1 / privacy.k, f"k = {privacy.k}"))
    if not limits:
        return Finding(None, f'scope = "{privacy.scope}" limits no risk of it.')
    value, setting = min(limits)
    return Finding(value, f"{setting} limits it to {value:.3g}.")


def _guarantee_highest(job: Job) -> Finding:
    """Return the highest risk of a record that the job guarantees."""
    return _guarantee(job, "risk")


def _guarantee_average(job: Job) -> Finding:
    """Return the average risk that the job guarantees."""
    return _guarantee(job, "risk", "average_risk")


def _guarantee_linkage(job: Job) -> Finding:
    """Return the share of linked records that the job guarantees."""
    if job.roles.unit and job.privacy.linkage is None:
        return Finding(None, "It is measured on the release.", open=True)
    return _guarantee(job, "linkage")


def _guarantee_size(job: Job) -> Finding:
    """Return how many records or units the job guarantees in each combination."""
    privacy = job.privacy
    if not _is_combined(job):
        return Finding(
            None,
            f'scope = "{privacy.scope}": a record may be unique in the combination of '
            "all quasi-identifiers.",
        )
    what = "units" if job.roles.unit else "records"
    return Finding(privacy.k, f"k = {privacy.k}: so many {what} share a combination.")


def _guarantee_units(job: Job) -> Finding:
    """Return how many units the job guarantees in each combination."""
    if not job.roles.unit:
        return Finding(None, "No column has the role unit.", open=True)
    return _guarantee_size(job)


def _guarantee_identifiers(job: Job) -> Finding:
    """Return that no identifier is published, if the job declares some."""
    count = len(job.roles.identifier)
    if not count:
        return Finding(None, "No column has the role identifier.", open=True)
    return Finding(0, f"{plural(count, 'column')} of the role identifier dropped.")


def _guarantee_other(job: Job) -> Finding:
    """Return how many records other columns make unique: 0 without such columns."""
    other = len(job.roles.other)
    if not other:
        return Finding(0, "No column has the role other.")
    return Finding(
        None,
        f"{plural(other, 'column')} of the role other: records that are unique with "
        "them are counted on the release.",
        open=True,
    )


def _guarantee_confidential(job: Job) -> Finding:
    names = job.roles.confidential
    if not names:
        return Finding(None, "No column has the role confidential.", open=True)
    models = job.privacy.models
    required = ", ".join(model.name for model in models) or "no l, t or other model"
    unprotected = sum(
        not any(model.concerns(name) for model in models) for name in names
    )
    without = f", {unprotected} without it" if models and unprotected else ""
    return Finding(
        unprotected,
        f"{required} for {plural(len(names), 'confidential attribute')}{without}.",
    )


def _guarantee_attacks(_: Job) -> Finding:
    """Return an open finding: attacks are measured on a release alone."""
    return Finding(
        None, "Attacks are measured on a release: aggopt evidence --control.", open=True
    )


def _count_attacks(_: Job, review: Review) -> Finding:
    """Return how many attacks succeed more often on the release than on the control."""
    criteria = review.criteria
    if criteria is None:
        return Finding(None, "No control was named (--control).", open=True)
    helping = sum(attack.helps for attack in criteria.attacks)
    return Finding(
        helping,
        f"{helping} of {plural(len(criteria.attacks), 'attack')} reach more on the "
        f"release than on {plural(criteria.control, 'person')} outside it.",
    )


def _get_rarest(review: Review) -> Count:
    """Return the count with the rarest combination: of records, or of linked units."""
    counts = [review.audit.whole]
    if review.audit.linked is not None:
        counts.append(review.audit.linked)
    return min(counts, key=lambda count: count.rarest)


def _count_highest(_: Job, review: Review) -> Finding:
    """Return the highest risk of a record: 1 over the size of its combination."""
    rarest = _get_rarest(review)
    share = plural(rarest.rarest, rarest.what)
    risk = 1 / rarest.rarest
    return Finding(risk, f"{risk:.3g}: 1 of the {share} of the rarest combination.")


def _count_average(_: Job, review: Review) -> Finding:
    """Return the average risk of records, or of linked units if it is higher."""
    counts = [review.audit.whole, *filter(None, [review.audit.linked])]
    riskiest = max(counts, key=lambda count: count.average_risk)
    return Finding(
        riskiest.average_risk,
        f"{riskiest.average_risk:.3g}: "
        f"{plural(riskiest.combinations, 'combination')} of "
        f"{plural(riskiest.total, riskiest.what)}.",
    )


def _count_size(_: Job, review: Review) -> Finding:
    """Return the size of the rarest combination."""
    rarest = _get_rarest(review)
    return Finding(
        rarest.rarest,
        f"{plural(rarest.rarest, rarest.what)} of the rarest combination.",
    )


def _count_units(job: Job, review: Review) -> Finding:
    """Return how many units share the rarest combination."""
    if not job.roles.unit:
        return Finding(None, "No column has the role unit.", open=True)
    return _count_size(job, review)


def _measure_linkage(_: Job, review: Review) -> Finding:
    """Return the share of records that are linked one to one with the originals."""
    measures = review.measures
    if measures is None:
        return Finding(None, "It could not be measured.", open=True)
    return Finding(
        measures.linkage,
        f"{100 * measures.linkage:.3g} % of the records linked one to one by somebody "
        f"with all originals; by chance {100 * measures.linkage_chance:.3g} %.",
    )


def _count_identifiers(job: Job, review: Review) -> Finding:
    """Return how many identifiers the release publishes."""
    if not job.roles.identifier:
        return Finding(None, "No column has the role identifier.", open=True)
    published = len(review.audit.identifiers)
    return Finding(published, f"{plural(published, 'identifier')} in the file.")


def _count_other(_: Job, review: Review) -> Finding:
    """Return how many records are unique together with other columns."""
    counts = [beside.count for beside in review.audit.beside if beside.known]
    if not counts:
        return Finding(0, "No column has the role other.")
    worst = max(counts, key=lambda count: count.unique)
    return Finding(
        worst.unique,
        f"{worst.unique} of {plural(worst.total, worst.what)} unique with the columns "
        "of the role other.",
    )


def _count_confidential(job: Job, review: Review) -> Finding:
    names = job.roles.confidential
    if not names:
        return Finding(None, "No column has the role confidential.", open=True)
    checks = [check for check in review.audit.promises if check.attribute in names]
    protected = {check.attribute for check in checks if check.holds}
    broken = {check.attribute for check in checks if not check.holds}
    missing = len(set(names) - protected | broken)
    return Finding(
        missing,
        f"{missing} of {plural(len(names), 'confidential attribute')} without a "
        "requirement that holds.",
    )


FIGURES: Mapping[str, GuidelineFigure] = {
    "highest_risk": GuidelineFigure(_guarantee_highest, _count_highest),
    "average_risk": GuidelineFigure(_guarantee_average, _count_average),
    "group_size": GuidelineFigure(_guarantee_size, _count_size),
    "unit_size": GuidelineFigure(_guarantee_units, _count_units),
    "linkage": GuidelineFigure(_guarantee_linkage, _measure_linkage),
    "published_identifiers": GuidelineFigure(
        _guarantee_identifiers, _count_identifiers
    ),
    "unique_with_other": GuidelineFigure(_guarantee_other, _count_other),
    "attacks_that_help": GuidelineFigure(_guarantee_attacks, _count_attacks),
    "unprotected_confidential": GuidelineFigure(
        _guarantee_confidential, _count_confidential
    ),
}
