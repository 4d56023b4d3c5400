"""The choice that was made: what other k would lose, and how many could be linked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import F64, Labels
from aggopt.data.table import Table
from aggopt.measure import linkage
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.report.charts.scatter import Point, draw_scatter
from aggopt.release.report.facts import Facts
from aggopt.release.report.page import DataTable, Figure, format_share, round_share
from aggopt.release.report.sections.registry import ReportSection

TRIED = (3, 5, 10, 20)
MOST = 400_000  # records times coordinates: MDAV takes about a second for all k
LINKED = 1000  # records that are linked one to one in a tenth of a second
PLAIN = "group means, MDAV"
OWN = "this release"
BETTER = "Down and to the left is better."


@dataclass(frozen=True)
class _Tried:
    k: int
    loss: float
    linked: float | None
    limit: float

    @property
    def risk(self) -> float:
        return self.limit if self.linked is None else self.linked


def compare_other_k(facts: Facts) -> tuple[str | Figure, ...]:
    """Compare a release with other releases that are quick to make.

    The others are means of MDAV's groups, within strata if the job has any. A search
    may find better ones.  Their figures are of publishable values, as the figures of
    the release are.
    """
    k = facts.audit.k
    measures = facts.measures
    why = _explain_absence(facts)
    if why is not None or measures is None:
        return (f"{why} To compare other k, run aggopt choose --k 3,5,10.",)
    tried = list(_try_each_k(facts))
    if len(tried) < 2:
        return ("There are too few records for groups of another size.",)
    here = _Tried(k, round_share(measures["il"]), round_share(measures["linkage"]), 1.0)
    if tried[0].linked is None:
        here = _Tried(k, here.loss, None, measures["linkage_limit"])
    return _describe_costs(tried, k), BETTER, _draw_map(tried, here)


def _explain_absence(facts: Facts) -> str | None:
    """Return why no other k is tried; None if it is."""
    if facts.original is None or facts.measures is None:
        return "Without the originals, or where nothing varies, nothing is compared."
    if facts.job.roles.unit:
        return "Where k counts units, no other k is tried here."
    if any(section.is_recoded for section in facts.job.attributes.values()):
        return "Where values were recoded before masking, no other k is tried here."
    if facts.original.domains:  # a mean of coordinates is no category
        return "Where categories are published, no other k is tried here."
    if facts.job.roles.weight:
        return "Where records have sampling weights, no other k is tried here."
    if facts.audit.scope != "combination" and len(facts.groups) > 1:
        return "Where attributes are grouped in blocks, no other k is tried here."
    size = facts.original.frame.shape[0] * len(facts.names)
    return f"For {size:,} values no other k is tried here." if size > MOST else None


def _try_each_k(facts: Facts) -> Iterator[_Tried]:
    """Yield the linkage and loss of a release with each other k."""
    from aggopt.partition import mdav

    X, strata = _compute_coordinates(facts)
    total = ((X - X.mean(axis=0)) ** 2).sum()
    stratum = np.empty(len(X), np.intp)
    for number, rows in enumerate(strata):
        stratum[rows] = number
    for k in sorted({*TRIED, facts.audit.k}):
        if total == 0 or min(map(len, strata)) < k or len(X) < 2 * k:
            continue
        Y = np.empty_like(X)
        groups = 0
        for rows in strata:
            labels = mdav(X[rows], k, scale="none").labels
            sizes = np.bincount(labels)
            sums = np.array([np.bincount(labels, x) for x in X[rows].T]).T
            Y[rows] = (sums / sizes[:, None])[labels]
            groups = groups + len(sizes)
        loss = round_share(float(((X - Y) ** 2).sum() / total))
        linked = None
        if len(X) <= LINKED:
            linked = round_share(linkage(X, Y, known=stratum).share)
        yield _Tried(k, loss, linked, groups / len(X))


def _compute_coordinates(facts: Facts) -> tuple[F64, list[Labels]]:
    """Return the z-scores of complete records, and their rows by stratum."""
    table = cast(Table, facts.original)  # as of any report with this part
    plain = table.matrix()
    is_complete = ~np.isnan(plain).any(axis=1)
    X = Scale.of(plain[is_complete]).standardise(plain[is_complete])
    names = facts.job.roles.stratum
    rows = np.flatnonzero(is_complete)
    if not names:
        return X, [np.arange(len(rows))]
    frame = facts.released.frame  # has strata as they are published
    labels = combine_codes(encode_entries(frame[name]) for name in names)[rows]
    ends = np.cumsum(np.bincount(labels))[:-1]
    parts = np.split(np.argsort(labels, kind="stable"), ends)
    return X, [part for part in parts if len(part)]


def _draw_map(tried: list[_Tried], here: _Tried) -> Figure:
    risk = "at most linked" if here.linked is None else "linked one to one"
    points = [
        Point(
            PLAIN,
            f"k = {t.k}",
            t.loss,
            t.risk,
            _describe_point(PLAIN, t, risk),
            f"#k-{t.k}",
        )
        for t in tried
    ]
    release = Point(
        OWN, "", here.loss, here.risk, _describe_point(OWN, here, risk), "#k-own"
    )
    head = ["values", "k", "information lost", risk, "limit"]
    rows = [
        [PLAIN, t.k, format_share(t.loss), format_share(t.risk), format_share(t.limit)]
        for t in tried
    ]
    limit = "" if here.linked is not None else format_share(here.limit)
    rows.append([OWN, here.k, format_share(here.loss), format_share(here.risk), limit])
    ids = [*(f"k-{t.k}" for t in tried), "k-own"]
    caption = f"Share of records {risk}, against information lost"
    table = DataTable(caption, head, rows, (1, 2, 3, 4), ids)
    chart = draw_scatter(
        [*points, release],
        title=caption,
        x="information lost (IL)",
        y=risk,
        chosen=len(points),
    )
    return Figure(chart, caption, table)


def _describe_point(what: str, point: _Tried, risk: str) -> str:
    """Return the label of a point: k, loss and linkage."""
    loss = format_share(point.loss)
    linked = format_share(point.risk)
    return f"{what}, k = {point.k}: {loss} lost, {linked} {risk}"


def _describe_costs(tried: list[_Tried], k: int) -> str:
    """Return a text on the cost of each other k, compared with this k."""
    by_k = {t.k: t for t in tried}
    if k not in by_k:
        return "The points show what other k would cost."
    chosen = by_k[k]
    costs = [
        f"k = {t.k} would lose {format_share(t.loss)}, "
        f"with at most {format_share(t.limit)} linked"
        for t in tried
        if t.k != k
    ]
    return (
        f"With plain group means, k = {k} loses {format_share(chosen.loss)} of the "
        "information, "
        f"and no linkage finds more than {format_share(chosen.limit)} of the records; "
        f"{'; '.join(costs)}."
    )


CHOICE = ReportSection(
    name="choice",
    when="the loss and the risk of other k",
    rank=70,
    content=compare_other_k,
    heading="The choice that was made",
    label="Choice",
)
