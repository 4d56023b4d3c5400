"""Which risks a release has, against the most that the job allows."""

from collections.abc import Iterator
from dataclasses import dataclass

from aggopt.core.plural import plural
from aggopt.job import Privacy, find_sufficient_k
from aggopt.release.audit.counts import Count

RISK = "risk"
AVERAGE = "average_risk"
LINKAGE = "linkage"
ROUNDING = 1e-12  # relative: a risk is a mean of many shares


def is_at_most_limit(risk: float, limit: float) -> bool:
    """Whether a risk is at most a limit, apart from rounding of the mean."""
    return risk <= limit * (1 + ROUNDING)


@dataclass(frozen=True)
class RiskLimit:
    """The risk of a release, and the most that the job allows.

    Attributes
    ----------
    name
        The key of [privacy]: "risk", "average_risk" or "linkage".
    most, risk
        The most that the job allows, and the risk of the release, as fractions; the
        risk is None if it could not be measured.
    source
        Source of the count of the risk, in words.
    way
        Setting of a job that keeps the limit.
    """

    name: str
    most: float
    risk: float | None
    source: str
    way: str = "a larger k"

    @property
    def holds(self) -> bool:
        """Whether the risk is at most the limit of the job."""
        return self.risk is not None and is_at_most_limit(self.risk, self.most)

    @property
    def advice(self) -> str:
        """Say what keeps it."""
        return f"set {self.way}, or allow a larger {self.name} under [privacy]"

    @property
    def promise(self) -> str:
        """Return the limit of the job, and whether it holds, as text."""
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return f"{self.name} <= {self.most:g} {verdict}"

    def __str__(self) -> str:
        """Return the limit of the job and the risk; no value of a record."""
        if self.risk is None:
            return f"{self.promise}: {self.source}."
        return f"{self.promise}: {self.source}, {self.risk:.6g}."


def check_counted_limits(
    privacy: Privacy, combination: Count, linked: Count | None
) -> Iterator[RiskLimit]:
    """Yield the checks of the risks that are counts of published combinations.

    `combination` counts records, or units, by the combination of all quasi-identifiers.
    `linked` counts the units by all of their records, if pseudonyms link these.
    """
    counts = [combination] if linked is None else [combination, linked]
    if privacy.risk is not None:
        rarest = min(counts, key=lambda count: count.rarest)
        yield RiskLimit(
            RISK,
            privacy.risk,
            1 / rarest.rarest,
            f"1 of the {plural(rarest.rarest, rarest.what)} of the rarest combination",
            _suggest_setting(privacy, privacy.risk),
        )
    if privacy.average_risk is not None:
        riskiest = max(counts, key=lambda count: count.average_risk)
        yield RiskLimit(
            AVERAGE,
            privacy.average_risk,
            riskiest.average_risk,
            f"{plural(riskiest.combinations, 'combination')} of "
            f"{_describe_average(riskiest)}",
            _suggest_setting(privacy, privacy.average_risk),
        )


def _describe_average(count: Count) -> str:
    """Return what an average risk is over: records, units, or units by combination."""
    if count.pairs is None:
        return plural(count.total, count.what)
    return f"{plural(count.pairs, 'pair')} of a unit and a combination"


def check_linkage_limit(
    privacy: Privacy, linkage: float | None
) -> tuple[RiskLimit, ...]:
    """Return the check of the linkage, if the job limits it.

    `linkage` is the share of all records that `aggopt.measure.linkage` links to their
    own; None if it was not measured.
    """
    if privacy.linkage is None:
        return ()
    source = "records linked one to one by somebody who knows the originals"
    if linkage is None:
        source = "it could not be measured on all records"
    return (RiskLimit(LINKAGE, privacy.linkage, linkage, source),)


def _suggest_setting(privacy: Privacy, risk: float) -> str:
    """Return the settings that certainly keep the limit of a risk."""
    is_weaker = privacy.scope != "combination"
    blocks = 'scope = "combination" and ' if is_weaker else ""
    return f"{blocks}k = {find_sufficient_k(risk)}, which keeps it"


def describe_unsure_limits(privacy: Privacy) -> Iterator[str]:
    """Yield a note on each limit of a risk that groups of k records may exceed.

    With the scope "combination" k keeps `risk`, and merging keeps the others.
    """
    if privacy.scope == "combination":
        for key in (AVERAGE, LINKAGE):
            limit = getattr(privacy, key)
            if limit is not None and 1 / privacy.k > limit:
                yield (
                    f"{key} = {limit:g} is not kept by k = {privacy.k} for certain: "
                    "groups are merged with their nearest ones until it holds."
                )
        return
    for key in (RISK, AVERAGE):
        limit = getattr(privacy, key)
        if limit is None:
            continue
        yield (
            f"{key} = {limit:g} is not kept by k = {privacy.k} for certain, and a "
            "release that does not keep it is refused once all work is done: set "
            f"{_suggest_setting(privacy, limit)}."
        )
