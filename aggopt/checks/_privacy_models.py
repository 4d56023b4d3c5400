"""Laws of a privacy model: its requirement on the groups of a release."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from aggopt.checks._records import UNIT, build_requirement, iter_partitions, make_people
from aggopt.checks.law import list_laws, not_tried, require
from aggopt.core.types import I64, Labels
from aggopt.errors import InfeasibleInputError
from aggopt.privacy.model import PrivacyModel
from aggopt.privacy.requirement import Requirement, sort_by_group
from aggopt.repair.merge_until_satisfied import merge_until_satisfied

SEEDS = range(3)
ROUNDED = 1e-9  # what `found` may be off by where `broken` is exact
FEW = (  # pays of seven records, in units
    (1, 1, 1, 1, 1, 1, 2),
    (1, 1, 1, 1, 2, 2, 2),
    (1, 1, 2, 2, 3, 3, 9),
    (1, 2, 3, 4, 5, 6, 7),
)


@dataclass(frozen=True, eq=False)
class TriedPrivacyModel:
    """A privacy model, and its requirement on an attribute."""

    name: str
    method: PrivacyModel
    settings: Mapping[str, Any]
    excused: Mapping[str, str]

    @classmethod
    def of(
        cls, method: PrivacyModel, settings: Mapping[str, Any], name: str
    ) -> "TriedPrivacyModel":
        """Return a method as its laws see it."""
        return cls(name, method, settings, method.excused)

    @cached_property
    def asked(self) -> Requirement:
        """Its requirement on forty records, by the line of its template."""
        return self.of_values(make_people()[1])

    def of_values(self, values: I64) -> Requirement:
        """Return its requirement on these numbers (n,)."""
        return build_requirement(self.method, values, self.settings)


def draw_groups(seed: int, n: int, max_size: int = 9) -> Labels:
    """Return labels (n,) of groups of any size, `max_size` at most."""
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, max_size, n), return_inverse=True)[1]
    return labels.astype(np.intp)


def broken_is_what_found_shows(f: TriedPrivacyModel) -> None:
    """A group breaks it exactly if its figure is on the wrong side of the threshold."""
    of = f.asked
    counts = of.required.is_integer()  # then a value equal to it is not rounded
    for seed in range(5):
        records, starts = sort_by_group(draw_groups(seed, of.n, 9 - seed))
        figures = of.measure_groups(records, starts)
        broken = of.find_broken(records, starts)
        require(
            figures.shape == broken.shape == (len(starts) - 1,), "one for each group"
        )
        away = (figures - of.required) / max(1.0, abs(of.required))
        beyond = away if of.sign == "<=" else -away
        for g in np.flatnonzero((np.abs(away) > ROUNDED) | (counts & (away == 0))):
            verdict = "broken" if broken[g] else "kept"
            stated = f"a group with {figures[g]:.6g}, asked {of.sign} {of.required:g}"
            require(broken[g] == (beyond[g] > 0), f"{stated}, is said to be {verdict}")


def groups_fall_short_exactly_where_they_break_it(f: TriedPrivacyModel) -> None:
    """`short` is above 0 for a group that breaks it, and 0 for others."""
    for seed in SEEDS:
        records, starts = sort_by_group(draw_groups(seed, f.asked.n))
        short = f.asked.measure_shortfall(records, starts)
        broken = f.asked.find_broken(records, starts)
        agrees = ((short > 0) == broken).all() and (short >= 0).all()
        require(agrees, f"seed {seed}: they fall short elsewhere")


def the_check_says_what_the_groups_have(f: TriedPrivacyModel) -> None:
    """`is_satisfied` and `check` agree with `find_broken` and `measure_groups`."""
    of = f.asked
    for seed in SEEDS:
        labels = draw_groups(seed, of.n)
        records, starts = sort_by_group(labels)
        broken = of.find_broken(records, starts)
        figures = of.measure_groups(records, starts)
        check = of.check(labels)
        worst = figures.max() if of.sign == "<=" else figures.min()
        where = f"seed {seed}"
        require(of.is_satisfied(labels) == (not broken.any()), f"{where}: `satisfied`")
        require(check.holds == (not broken.any()), f"{where}: the check holds or not")
        require(check.broken == broken.sum(), f"{where}: groups that break it")
        near = abs(check.found - worst) <= 1e-6 * max(1.0, abs(worst))
        require(near, f"{where}: {check.found:.9g} found, the worst has {worst:.9g}")


def each_group_is_judged_by_itself(f: TriedPrivacyModel) -> None:
    """Whether a group breaks it does not depend on the other groups."""
    of = f.asked
    for seed in SEEDS:
        labels = draw_groups(seed, of.n)
        broken = of.find_broken(*sort_by_group(labels))
        for g in range(3):
            alone = of.find_broken(*sort_by_group(np.where(labels == g, 0, 1)))[0]
            require(alone == broken[g], f"seed {seed}: alone it is judged otherwise")


def order_of_records_does_not_matter(f: TriedPrivacyModel) -> None:
    """Neither the order of the groups nor that of their records matters."""
    of = f.asked
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.arange(of.n) % 8)
    records, starts = sort_by_group(labels)
    mixed = records.copy()
    for start, end in pairwise(starts.tolist()):
        rng.shuffle(mixed[start:end])
    same = np.array_equal(
        of.measure_groups(mixed, starts), of.measure_groups(records, starts)
    )
    require(same, "the records of a group in another order have something else")
    renumbered = of.check((labels + 3) % 8)
    require(
        renumbered == of.check(labels), "groups numbered otherwise have another check"
    )


def one_value_protects_least(f: TriedPrivacyModel) -> None:
    """No group has less of it than some group of as many records with one value."""
    _, pay = make_people()
    ends = [np.flatnonzero(pay == end) for end in (pay.min(), pay.max())]
    of = f.asked
    size = len(ends[0])
    alone = [of.measure_groups(end, np.array([0, size]))[0] for end in ends]
    extreme = max(alone) if of.sign == "<=" else min(alone)
    rng = np.random.default_rng(4)
    for _ in range(40):
        group = rng.choice(of.n, size, replace=False).astype(np.int64)
        figure = of.measure_groups(group, np.array([0, size]))[0]
        less = (
            figure > extreme + ROUNDED
            if of.sign == "<="
            else figure < extreme - ROUNDED
        )
        require(
            not less, f"a group with several values has {figure:.6g}, one {extreme:g}"
        )


def some_groups_break_it(f: TriedPrivacyModel) -> None:
    """It requires something: some random groups, and groups of one value, break it."""
    of = f.asked
    codes = np.unique(make_people()[1], return_inverse=True)[1]
    tried = [codes, *(draw_groups(seed, of.n) for seed in SEEDS)]
    broken = any(of.find_broken(*sort_by_group(labels)).any() for labels in tried)
    require(broken, "no group breaks it, not one of a single value")


def a_union_satisfies_what_its_groups_do(f: TriedPrivacyModel) -> None:
    """If it is additive, a union of two groups that keep it keeps it."""
    if not f.asked.additive:
        not_tried("it says that it is not additive")
    rng = np.random.default_rng(2)
    for groups in (5, f.asked.n // 2) * 40:
        labels = rng.permutation(np.arange(f.asked.n) % groups)
        union = np.unique(np.where(labels == 1, 0, labels), return_inverse=True)[1]
        before = f.asked.find_broken(*sort_by_group(labels))[:2].any()
        after = f.asked.find_broken(*sort_by_group(union))[0]
        require(before or not after, "two groups keep it, and their union breaks it")


def infeasible_is_proven(f: TriedPrivacyModel) -> None:
    """If it declares that no groups of k satisfy it, none of all partitions does."""
    for units in FEW:
        of = f.of_values(UNIT * np.array(units, np.int64))
        if of.explain_infeasible(2) is None:
            continue
        labels = np.empty(len(units), np.intp)
        for groups in iter_partitions(len(units), 2):
            for g, group in enumerate(groups):
                labels[group] = g
            stated = f"{len(groups)} groups of pays {units}"
            require(not of.is_satisfied(labels), f"{stated} satisfy it all the same")


def merging_satisfies_it(f: TriedPrivacyModel) -> None:
    """Groups of three, merged until none falls short, satisfy it."""
    X, _ = make_people()
    labels = np.arange(len(X)) // 3
    labels[-1] = labels[-2]
    try:
        merged = merge_until_satisfied(X, labels, [f.asked])
    except InfeasibleInputError:
        require(
            not f.asked.is_satisfied(np.zeros(len(X), np.intp)), "one group keeps it"
        )
        return
    require(f.asked.is_satisfied(merged), "the groups that are left break it")


def it_shows_no_record(f: TriedPrivacyModel) -> None:
    """Its repr, and the repr of a check, have no value."""
    of = f.asked
    text = repr(of) + str(of.check(np.zeros(of.n, np.intp)))
    values = [value for value in np.unique(make_people()[1]) if value > UNIT]
    require(not any(str(value) in text for value in values), "a value is printed")
    require("array" not in text, "an array is printed: field(repr=False)")


LAWS = list_laws(
    broken_is_what_found_shows,
    groups_fall_short_exactly_where_they_break_it,
    the_check_says_what_the_groups_have,
    each_group_is_judged_by_itself,
    order_of_records_does_not_matter,
    one_value_protects_least,
    some_groups_break_it,
    a_union_satisfies_what_its_groups_do,
    infeasible_is_proven,
    merging_satisfies_it,
    it_shows_no_record,
)
