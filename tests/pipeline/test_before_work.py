"""What is refused before any group is made: each check by itself, in full."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import MDAV

import aggopt
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.pipeline.prepare.defaults import set_category_method
from aggopt.pipeline.prepare.prepared_table import find_constant
from aggopt.pipeline.validate import preflight_checks as checks
from aggopt.pipeline.validate.categories import require_category_settings
from aggopt.pipeline.validate.missing_values import (
    require_covered,
    require_patterns,
    require_present_together,
    require_present_values,
)
from aggopt.pipeline.validate.preflight_checks import (
    require_numeric_blocks,
    require_one_at_a_time,
)

FRAME = pd.DataFrame(
    {
        "a": [1, 2, 3, 4, 5, 9, 11, 20],
        "b": [0.5, 1.0, 2.5, 3.0, 7.0, 8.0, 9.0, 12.0],
        "code": [1, 1, 1, 1, 2, 2, 2, 2],
        "s": list("xxxxyyyy"),
        "t": list("uvuvuvuv"),
        "pay": [1, 2, 3, 4, 5, 6, 7, 8],
    }
)
NAMED = {"code": {"kind": "nominal"}}
VARIANCE = {"aggregation": {"method": "mean", "keep": "variance"}}
PATTERNS = {"missing": {"policy": "patterns"}}


def asked(*names, k=3, confidential=(), **sections):
    roles = {"quasi-identifier": names, "confidential": confidential}
    privacy = {"k": k, **sections.pop("privacy", {})}
    own = {name: NAMED[name] for name in names if name in NAMED}
    plain = {"partition": MDAV, "attributes": own}
    return aggopt.Job(roles=roles, privacy=privacy, **{**plain, **sections})


def table_of(job, frame=FRAME):
    roles = job.roles
    frame = frame[[*roles.quasi_identifier, *roles.confidential]]
    return Table.of(frame, roles, job.attributes, missing=job.missing)


def holed(**there):
    """Return the table in which columns have as many values as is said."""
    frame = FRAME.astype({"a": float, "b": float})
    for name, count in there.items():
        frame.loc[count:, name] = None
    return frame


# --- what varies, and how many groups there are


def test_a_table_in_which_nothing_varies_is_refused() -> None:
    job = asked("a", "s")
    same = FRAME.assign(a=[7] * 8, s=["x"] * 8)
    for frame in (same.assign(s=FRAME["s"]), same.assign(a=FRAME["a"])):
        table = table_of(job, frame)
        checks._require_varying(table, table.matrix())
    table = table_of(job, same)
    with refused(
        "No quasi-identifier varies: there is nothing to mask.",
        "name those that vary; where none does, k-anonymity needs no masking.",
        TableError,
    ):
        checks._require_varying(table, table.matrix())


def test_what_has_one_value_is_told_of_numbers_and_of_names() -> None:
    job = asked("s", "a", "t", "b", **PATTERNS)
    frame = holed(s=7, b=7).assign(t=["u"] * 8)
    frame["b"] = frame["b"].where(frame["b"].isna(), 5.0)
    table = table_of(job, frame)
    assert find_constant(table, table.matrix()).tolist() == [False, False, True, True]
    falling = table_of(job, frame.assign(s=list("yxxxxxxx")))
    assert not find_constant(falling, falling.matrix())[0]


@pytest.mark.parametrize(("k", "enough"), [(4, True), (5, False)])
def test_one_group_cannot_keep_the_variance(k, enough) -> None:
    whole = np.ones((8, 2))
    checks._require_two_groups(whole, asked("a", "b", k=k))
    if enough:
        checks._require_two_groups(whole, asked("a", "b", k=k, **VARIANCE))
        return
    with refused(
        "8 records with k = 5 make one group, and one value cannot keep the variance.",
        "choose k of at most half the records, or aggregate by the mean as it is.",
        InfeasibleInputError,
    ):
        checks._require_two_groups(whole, asked("a", "b", k=k, **VARIANCE))


# --- groups that are best for whole numbers

WHOLE = {"partition": {"method": "univariate", "centroids": "integer"}}
ROUND = {"output": {"round_integers": True}}
UNROUNDED = (
    'centroids = "integer" asks for groups whose means are to be rounded, and this job '
    "would not round them.",
    'set round_integers = true under [output] and method = "mean" under [aggregation], '
    "or leave centroids out.",
    JobError,
)


def test_groups_for_rounded_means_are_asked_of_jobs_that_round_them() -> None:
    checks._require_rounding(asked("a"))
    checks._require_rounding(asked("a", **WHOLE, **ROUND))
    for section in ({}, {**ROUND, "aggregation": {"method": "median"}}):
        with refused(*UNROUNDED):
            checks._require_rounding(asked("a", **WHOLE, **section))
    with refused(*UNROUNDED):
        checks._require_rounding(asked("a", **WHOLE, **ROUND, **VARIANCE))


@pytest.mark.parametrize(
    ("names", "other"),
    [
        (["a"], None),
        (["a", "b"], "'b'"),
        (["a", "code"], "'code'"),
        (["s", "a", "b"], "'s', 'b'"),
    ],
)
def test_groups_for_whole_numbers_are_asked_of_columns_of_them(names, other) -> None:
    job = asked(*names, **WHOLE, **ROUND)
    table = table_of(job)
    checks._require_integers(table, asked(*names))
    if other is None:
        checks._require_integers(table, job)
        return
    with refused(
        f'centroids = "integer" is for columns of whole numbers, which {other} are not '
        "by their type.",
        "convert them to integers, or leave centroids out.",
        JobError,
    ):
        checks._require_integers(table, job)


# --- methods and the attributes that they take


def test_a_method_that_takes_one_attribute_is_given_one_at_a_time() -> None:
    for method in ("mdav", "univariate"):
        require_one_at_a_time(asked("a", "b", partition={"method": method}), ((0,),))
    require_one_at_a_time(asked("a", "b"), ((0, 1),))
    with refused(
        "univariate takes one attribute, and the job groups 3 together.",
        'group one attribute at a time, with method = "individual_ranking" or '
        'attributes = "one by one", which takes scope = "blocks" under [privacy]; or '
        'all together, with method = "projection" or "mhm".',
        JobError,
    ):
        job = asked("a", "b", "pay", partition={"method": "univariate"})
        require_one_at_a_time(job, ((0, 1, 2), (0,)))


def test_a_method_that_orders_numbers_is_given_no_category() -> None:
    plain, ordering = asked("a", "s"), asked("a", "s", partition={"method": "mhm"})
    one = asked("a", "s", partition={"method": "univariate"})
    table = table_of(plain)
    for job in (plain, ordering):
        require_numeric_blocks(job, table, ((0, 1),))
    require_numeric_blocks(one, table, ((0,),))
    with refused(
        "univariate orders numbers, and 's' is nominal.",
        'choose method = "mdav", "local_search" or another that takes several '
        "attributes.",
        JobError,
    ):
        require_numeric_blocks(one, table, ((0,), (1,)))


def test_categories_are_published_of_tables_that_have_some() -> None:
    plurality = {"aggregation": {"method": "mean", "categories": {"method": "wish"}}}
    job = asked("b", "a", **plurality)
    with refused(
        "[aggregation.categories] is for categories, and every "
        "quasi-identifier is a number.",
        'leave the section out, or declare the categories: kind = "nominal" under '
        "[attributes.b].",
        JobError,
    ):
        require_category_settings(job, table_of(job))
    plain = asked("a", "b")
    assert set_category_method(plain, table_of(plain)) is plain


def test_numbers_are_published_of_tables_that_have_some() -> None:
    names = asked("s", "t")
    made = set_category_method(names, table_of(names))
    assert made.aggregation.categories.method == "plurality"
    job = asked("s", "t", aggregation={"method": "median"})
    with refused(
        "[aggregation] method = 'median' publishes numbers, and every quasi-identifier "
        "is a category.",
        "leave the method and its settings out; the method for categories is set under "
        "[aggregation.categories].",
        JobError,
    ):
        require_category_settings(job, table_of(job))


# --- values that are missing


@pytest.mark.parametrize(
    ("frame", "section", "said"),
    [
        (holed(a=5), {}, None),
        (holed(a=3), {}, None),
        (holed(b=2), {}, ("b", 2, "", 3)),
        (holed(s=2), {}, ("s", 2, "", 3)),
        (holed(a=6), VARIANCE, None),
        (holed(b=5), VARIANCE, ("b", 5, " and its variance is to be kept", 6)),
        (holed(s=3), VARIANCE, None),
        (holed(s=2), VARIANCE, ("s", 2, "", 3)),
    ],
)
def test_attributes_with_too_few_values_are_refused(frame, section, said) -> None:
    job = asked("a", "b", "s", **PATTERNS, **section)
    table = table_of(job, frame)
    if said is None:
        require_present_values(table, table.matrix(), job)
        return
    name, count, why, least = said
    with refused(
        f"'{name}' has {count} values that are not missing, with k = 3{why}: {least} "
        "are needed.",
        "drop it, as identifier, or choose a smaller k.",
        InfeasibleInputError,
    ):
        require_present_values(table, table.matrix(), job)


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("variance", None),
        ("covariance", '"covariance"'),
        ({"covariance": [["a"]], "mean": ["b"]}, "a table"),
        ({"variance": ["a", "b"]}, "a table"),
    ],
)
def test_the_covariance_of_numbers_with_holes_is_not_kept(keep, kept) -> None:
    job = asked("a", "b", "s", aggregation={"method": "mean", "keep": keep}, **PATTERNS)
    for frame in (FRAME, holed(s=5)):
        table = table_of(job, frame)
        require_covered(table, table.matrix(), job)
    table = table_of(job, holed(b=7))
    if kept is None:
        require_covered(table, table.matrix(), job)
        return
    with refused(
        f"keep = {kept} is of records that have every number, and values are missing.",
        'set keep = "variance", of each attribute, or remove those records.',
        JobError,
    ):
        require_covered(table, table.matrix(), job)


def test_methods_of_confidential_values_are_not_for_patterns_of_holes() -> None:
    whole, holes = np.ones((8, 2)), np.array([[1.0, np.nan]] * 8)
    diverse = {
        "partition": {"method": "diverse_vmdav"},
        "privacy": {"l": 2},
        "confidential": ["pay"],
    }
    require_patterns(holes, asked("a", "b", **PATTERNS))
    require_patterns(whole, asked("a", "b", **PATTERNS, **diverse))
    require_patterns(holes, asked("a", "b", missing={"policy": "fill"}, **diverse))
    with refused(
        "diverse_vmdav looks at confidential values of all records together, and "
        "groups are made within each pattern of missing values.",
        'choose method = "mdav" or another, with repair = "merge" under [privacy]; or '
        'policy = "fill" under [missing].',
        JobError,
    ):
        require_patterns(holes, asked("a", "b", **PATTERNS, **diverse))


def test_categories_with_holes_are_chosen_by_themselves() -> None:
    def look(frame, columns=((0, 1, 2, 3),), **section):
        how = {"aggregation": {"method": "mean", **section}}
        job = asked("a", "s", "code", "t", **PATTERNS, **how)
        table = table_of(job, frame)
        require_present_together(job, table, table.matrix(), columns)

    both = {"categories": {"method": "plurality", "occurring": True}}
    look(holed(s=5))
    look(holed(s=5), categories={"method": "plurality"})
    look(holed(a=5), **both)
    look(holed(s=5), columns=((0, 1), (2, 3)), **both)
    s, t = "[attributes.s]", "[attributes.t]"
    for frame, columns, chosen, lacking, sections in (
        (holed(s=5), ((0, 1, 2, 3),), "'s', 'code', 't'", "'s'", s),
        (holed(s=5, t=6), ((0, 1, 2, 3),), "'s', 'code', 't'", "'s', 't'", f"{s}, {t}"),
        (holed(s=5, t=6), ((0, 1), (2, 3)), "'code', 't'", "'t'", t),
    ):
        with refused(
            f"{chosen} are chosen together, and values of {lacking} are missing.",
            f'choose each by itself, or write missing = "own value" under {sections}.',
            JobError,
        ):
            look(frame, columns, **both)


def test_a_release_keeps_the_variance_where_its_job_says_so() -> None:
    kept = SimpleNamespace(aggregation=SimpleNamespace(keeps={"variance", "mean"}))
    other = SimpleNamespace(aggregation=SimpleNamespace(keeps={"mean"}))
    assert (checks.is_variance_kept(kept), checks.is_variance_kept(other)) == (
        True,
        False,
    )
