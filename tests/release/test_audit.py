"""The words and numbers of an audit, each condition and border of it."""

from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt.data.context.confidential import read_confidential_attributes
from aggopt.errors import JobError, PrivacyError
from aggopt.job import AttributeSection, Privacy
from aggopt.job.roles import Roles
from aggopt.privacy.dominance import Dominance
from aggopt.release.audit.audit import audit_release
from aggopt.release.audit.counts import Count
from aggopt.release.audit.missing import MissingValues
from aggopt.release.audit.originals import Unchanged, compute_max_distinct
from aggopt.release.audit.partial_audit import Combinations, audit_part, merge_audits

AGE = Roles(**{"quasi-identifier": ["age"]})
PAIR = Roles(**{"quasi-identifier": ["age", "pay"]})


def ages(*sizes):
    """A table in which the age j stands in sizes[j] records."""
    return pd.DataFrame({"age": np.repeat(np.arange(len(sizes)), sizes)})


def counts(found, name):
    return {each.known: getattr(each.count, name) for each in found.beside}


# --- the promise, exactly kept and broken by one


def test_k_holds_where_the_rarest_combination_has_k_records():
    found = audit_release(ages(3, 4), AGE, Privacy(k=3))
    assert found.holds
    assert found.verdict == (
        "k = 3 holds: 7 records, 2 published combinations, the rarest in 3 records."
    )
    assert str(found) == found.verdict
    assert (found.warning, found.notes) == (None, ())
    found.require()


def test_strata_that_groups_lie_within_are_named():
    found = audit_release(ages(3, 4), AGE, Privacy(k=3))
    assert replace(found, strata=("region", "sex")).verdict == (
        "k = 3 holds within strata of 'region', 'sex': 7 records, 2 published "
        "combinations, the rarest in 3 records."
    )


def test_published_weights_and_pseudonyms_are_in_the_verdict():
    plain = audit_release(ages(3, 4), AGE, Privacy(k=3))
    linked = Count(("age",), 2, 4, 0, 0, 9, "unit")
    same = Unchanged(identical=3, records=3, cells={}, identical_cells={})
    found = replace(plain, weight="w", linked=linked, unchanged=same)
    assert found.verdict == (
        "k = 3 holds with the weights 'w': 7 records, 2 published combinations, the "
        "rarest in 3 records. Pseudonyms tell which records are of one unit; what "
        "these have together is that of 4 units at least. 3 of 7 records are "
        "published unchanged; 3 of 7 records are in identical groups, whose originals "
        "are equal in every quasi-identifier."
    )


def test_pseudonyms_are_counted_as_units_with_what_stands_beside():
    roles = Roles(**{"quasi-identifier": ["age"], "other": ["sex"]})
    table = ages(6, 6).assign(who=list("aabbcdefghij"), sex=list("f" * 11 + "m"))
    found = audit_release(table, roles, Privacy(k=3), pseudonym="who")
    assert found.linked == Count(("age",), 3, 2, 4, 0, 10, "unit")
    assert found.linked.total == 10
    records, units = found.beside
    assert (records.count.what, records.count.unique) == ("record", 1)
    assert (units.count.what, units.count.unique, units.count.total) == ("unit", 1, 10)
    assert found.seal.state == "red"
    assert "With 'sex', 1 of 12 records is unique." in found.seal.risks
    small = "With 'sex', 1 of 10 units is unique; 5 are in groups smaller than 3."
    assert small in found.seal.risks
    plain = audit_release(table, roles, Privacy(k=3))
    assert plain.linked is None
    assert not any("units" in note for note in plain.notes)


def test_k_does_not_hold_where_it_has_one_less():
    found = audit_release(ages(2, 1, 4), AGE, Privacy(k=3))
    assert not found.holds
    assert found.verdict == (
        "k = 3 DOES NOT HOLD: 7 records, 3 published combinations, the rarest in "
        "1 record."
    )
    assert found.warning is None  # the verdict says it
    with refused(PrivacyError, "k = 3"):
        audit_release(ages(2, 4), AGE, Privacy(k=3)).require()


def test_an_identifier_that_is_left_breaks_the_promise_whatever_k():
    roles = Roles(**{"identifier": ["name"], "quasi-identifier": ["age"]})
    found = audit_release(ages(3).assign(name="x"), roles, Privacy(k=3))
    assert (found.smallest, found.holds) == (3, False)
    assert found.verdict.startswith("k = 3 DOES NOT HOLD: 3 records, 1 published")
    with refused(PrivacyError):
        found.require()


def test_the_count_of_combinations():
    found = audit_release(ages(1, 2, 3, 4, 1), AGE, Privacy(k=3)).whole
    assert found.attributes == ("age",)
    assert (found.combinations, found.rarest, found.rare, found.unique) == (5, 1, 4, 2)
    found = audit_release(ages(3, 4), AGE, Privacy(k=3))
    assert (found.groups, found.combination, found.smallest, found.unique) == (
        *(2, 3, 3),
        0,
    )
    stated = found.to_dict()
    assert {name: stated[name] for name in ("groups", "smallest", "unique")} == {
        **{"groups": 2, "smallest": 3},
        "unique": 0,
    }
    assert (stated["combination"], stated["holds"]) == (3, True)


BLOCKS = [["age"], ["pay"]]
BLOCKWISE = Privacy(k=2, scope="blocks")


def test_blocks_that_hold_although_the_combination_does_not():
    table = pd.DataFrame({"age": [1, 1, 1, 2, 2, 2], "pay": [1, 1, 2, 2, 1, 1]})
    found = audit_release(table, PAIR, BLOCKWISE, BLOCKS)
    assert (found.smallest, found.combination, found.holds) == (2, 1, True)
    assert found.verdict == (
        "k = 2 holds in each of 2 blocks of attributes: 6 records, the rarest "
        "combination of a block in 2 records."
    )
    assert found.warning == (
        "NOT 2-anonymous on the combination of all 2 quasi-identifiers: 2 of 6 records "
        "are unique. k holds within each block only."
    )
    strict = audit_release(table, PAIR, Privacy(k=2), BLOCKS)
    assert (strict.smallest, strict.holds, strict.warning) == (1, False, None)
    assert found.notes == (found.warning,)
    assert str(found) == f"{found.verdict}\n{found.warning}"


def test_the_warning_ends_where_the_combination_holds():
    table = pd.DataFrame({"age": [1, 1, 1, 2, 2, 2], "pay": [1, 1, 1, 2, 2, 2]})
    three = Privacy(k=3, scope="blocks")
    assert audit_release(table, PAIR, three, BLOCKS).warning is None
    table.loc[0, "pay"] = 2
    found = audit_release(table, PAIR, three, BLOCKS)
    assert found.warning.startswith("NOT 3-anonymous on the combination of all 2")
    assert "1 of 6 records is unique; 3 are in groups smaller than 3." in found.warning
    assert "k holds within" not in found.warning  # pay 1 stands in two records only
    assert found.verdict.startswith("k = 3 DOES NOT HOLD in each of 2 blocks")
    with refused(PrivacyError, "'pay'"):
        found.require()


def test_one_block_is_not_called_several():
    found = audit_release(ages(2, 2), AGE, BLOCKWISE)
    assert found.verdict.startswith("k = 2 holds: 4 records, 2 published combinations")


# --- refused, word for word


def expect_refusal(*data, **promised):
    with refused(PrivacyError) as error:
        audit_release(*data, Privacy(**promised)).require()
    return str(error.value).replace("\n", " ")


def test_each_refusal_says_what_to_do():
    roles = Roles(
        **{"identifier": ["name", "mail"], "quasi-identifier": ["age"]}, wish=("far",)
    )
    table = ages(3).assign(name="x", mail="y", far=1.0)
    expect_refusal(table, roles, k=3)
    expect_refusal(ages(2, 4), AGE, k=3)
    table = ages(2, 4).assign(pay=1)
    expect_refusal(table, PAIR, k=3, scope="blocks")


SICK = Roles(**{"quasi-identifier": ["age"], "confidential": ["ill"]})
MERGE = 'nothing was written; set repair = "merge" under [privacy], or promise'
UNION = (
    "which these groups keep. Where a repair is set: groups that publish the same "
    "values count as one, so publish more digits."
)


def test_broken_l_and_t_say_what_these_groups_keep():
    table = ages(4, 4).assign(ill=[0, 0, 0, 1, 0, 1, 2, 3])
    found = audit_release(table, SICK, Privacy(k=2, l=3))
    first, second = found.verdict.split("\n")
    assert first.startswith("k = 2 holds on the masked attributes: 8 records")
    assert second == (
        "distinct l >= 3 DOES NOT HOLD for 'ill': the worst group, of 4 records, has "
        "2; 1 of 2 groups fails."
    )
    assert not found.holds
    said = expect_refusal(table, SICK, k=2, l=3)
    assert said == f"{second} To fix: {MERGE} l of at most 2, {UNION}"
    said = expect_refusal(table, SICK, k=2, l=2, t=0.1)
    assert audit_release(table, SICK, Privacy(k=2, l=2)).holds


# --- what is published beside the masked attributes


BESIDE = Roles(
    **{"quasi-identifier": ["age"], "other": ["sex"], "confidential": ["pay"]}
)


def test_few_values():
    assert [compute_max_distinct(n) for n in (1, 419, 420, 4000)] == [20, 20, 21, 200]


def test_the_verdict_counts_with_the_columns_that_are_published_as_they_are():
    table = ages(3, 22).assign(sex=["m", "f", "f", *("m",) * 22], pay=np.arange(25))
    found = audit_release(table, BESIDE, Privacy(k=3))
    assert found.holds
    assert found.verdict == (
        "k = 3 holds on the masked attributes, but 1 of 25 records is unique with "
        "'sex': 25 records, 2 published combinations, the rarest in 3 records. If "
        "somebody also knew 'pay', 25 of 25 records would be unique. With 'sex', 3 of "
        "25 records are in groups smaller than 3."
    )
    assert [each.columns for each in found.beside] == [("sex",), ("pay",)]
    assert [(each.short, each.what) for each in found.beside] == [
        ("with other", "other columns"),
        ("with confidential", "confidential columns"),
    ]
    assert found.beside[0].count.attributes == ("age", "sex")
    assert found.beside[1].count.attributes == ("age", "sex", "pay")
    assert found.beside[0].count.combinations == 3
    stated = found.to_dict()["beside"]
    assert [each["count"]["unique"] for each in stated] == [1, 25]
    found.require()  # nobody promised more


def test_a_broken_promise_is_on_the_masked_attributes_too():
    found = audit_release(ages(2).assign(sex="m", pay=1), BESIDE, Privacy(k=3))
    assert found.verdict.startswith("k = 3 DOES NOT HOLD on the masked attributes: 2 ")


@pytest.mark.parametrize(
    ("sex", "pay", "said"),
    [
        ("m", 0, "also knew 'pay', no record would be in a group smaller than 3."),
        ("m", np.arange(21), "also knew 'pay', 21 of 21 records would be unique."),
        ("m", np.arange(21) // 2, "also knew 'pay', 1 of 21 records would be unique."),
        (
            ["m"] * 21,
            [0, 0, *(1,) * 19],
            "knew 'pay', no record would be unique, and 2 of 21 records would be in "
            "groups smaller than 3.",
        ),
    ],
)
def test_confidential_columns_are_a_sentence_of_a_green_seal(sex, pay, said):
    found = audit_release(ages(21).assign(sex=sex, pay=pay), BESIDE, Privacy(k=3))
    assert (found.seal.state, found.seal.heading) == ("green", "k = 3 holds")
    assert said in found.seal.risks[0]
    assert said in found.verdict


def test_confidential_columns_alone_are_not_known_also():
    roles = Roles(**{"quasi-identifier": ["age"], "confidential": ["pay"]})
    found = audit_release(ages(21).assign(pay=np.arange(21)), roles, Privacy(k=3))
    assert found.seal.risks == (
        "If somebody knew 'pay', 21 of 21 records would be unique.",
    )


def test_where_all_are_unique_confidential_columns_add_nothing():
    table = ages(21).assign(sex=np.arange(21), pay=0)
    found = audit_release(table, BESIDE, Privacy(k=3))
    assert (found.seal.state, found.seal.risks) == ("amber", ())
    assert found.seal.heading == (
        "k = 3 holds, but 21 of 21 records are unique with 'sex'"
    )
    assert found.to_dict()["seal"]["state"] == "amber"
    assert 'style="border-left: 6px solid #b87a00' in found._repr_html_()


@pytest.mark.parametrize(
    ("sizes", "k", "said"),
    [
        ((1, 2), 2, "1 of 3 records is unique with 'sex'"),
        ((1, 1, 2), 2, "2 of 4 records are unique with 'sex'"),
        ((1, 3), 3, "1 of 4 records is unique with 'sex'"),
        ((2, 3), 3, "2 of 5 records are in groups smaller than 3 with 'sex'"),
    ],
)
def test_one_and_many_are_said_as_they_are(sizes, k, said):
    table = ages(*sizes).rename(columns={"age": "sex"}).assign(age=1)
    roles = Roles(**{"quasi-identifier": ["age"], "other": ["sex"]})
    found = audit_release(table, roles, Privacy(k=k))
    assert (found.seal.state, found.holds) == ("amber", True)
    assert found.seal.heading == f"k = {k} holds, but {said}"
    assert f"k = {k} holds on the masked attributes, but {said}: " in found.verdict


def test_columns_that_leave_k_alike_are_green():
    table = ages(3, 4).rename(columns={"age": "sex"}).assign(age=1)
    roles = Roles(**{"quasi-identifier": ["age"], "other": ["sex"]})
    found = audit_release(table, roles, Privacy(k=3))
    assert (found.seal.state, found.seal.risks) == ("green", ())


def test_the_seal_names_the_columns_that_suffice():
    house, roof = np.arange(12) // 2, [0] * 6 + [1] * 6
    table = ages(12).assign(roof=roof, house=house, who=[0, 1] * 6, same=0)
    roles = Roles(
        **{"quasi-identifier": ["age"], "other": ["same", "roof", "who", "house"]}
    )
    found = audit_release(table, roles, Privacy(k=3))
    assert found.beside[0].columns == ("same", "roof", "who", "house")
    assert found.seal.heading == (
        "k = 3 holds, but 12 of 12 records are unique with 'house', 'roof' and 'who'"
    )


def test_six_names_are_listed_and_the_rest_is_counted():
    names = list("abcdefgh")
    for some, said in (
        (6, "'d', 'e' and 'f', no record"),
        (7, "'e', 'f' and 1 more, no record"),
        (8, "'e', 'f' and 2 more, no record"),
    ):
        roles = Roles(**{"quasi-identifier": ["age"], "confidential": names[:some]})
        table = ages(3).assign(**dict.fromkeys(names[:some], 1))
        found = audit_release(table, roles, Privacy(k=3))
        assert said in found.verdict
        assert found.beside[0].columns == tuple(names[:some])


def test_blocks_count_the_combination_with_the_columns_beside():
    table = pd.DataFrame(
        {"age": [1, 1, 2, 2], "pay": [1, 1, 1, 1], "sex": list("mfmm")}
    )
    roles = Roles(**{"quasi-identifier": ["age", "pay"], "other": ["sex"]})
    found = audit_release(table, roles, BLOCKWISE, BLOCKS)
    assert found.verdict.startswith(
        "k = 2 holds on the masked attributes, in each of 2 blocks of attributes, but "
        "2 of 4 records are unique with 'sex': 4 records"
    )
    assert counts(found, "unique") == {True: 2}


KINDS = {
    "pandas": lambda frame: frame,
    "pandas categories": lambda frame: frame.astype({"a": "category"}),
    "pyarrow in pandas": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "polars categories": lambda f: pl.from_pandas(f).cast({"a": pl.Categorical}),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "text": lambda frame: pa.table(
        {
            name: frame[name].astype(object).where(frame[name].notna(), "").map(str)
            for name in frame
        }
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_counts(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.repeat([1.5, 0.0, 7.25, 1e9], 50),
            "a": rng.choice(["x", "y", "z"], 200),
            "b": rng.choice([0.1, 0.2, -0.0, 0.0, np.nan], 200),
            "c": rng.choice([True, False], 200),
            "d": rng.choice(pd.to_datetime(["2020-01-01", "2021-05-06"]), 200),
            "e": rng.normal(size=200),
        }
    )
    columns = {"other": list("abcd"), "confidential": ["e"]}
    roles = Roles(**{"quasi-identifier": ["age"], **columns})
    found = audit_release(KINDS[kind](frame), roles, Privacy(k=5))
    rows = list(zip(*(frame[n].map(repr) for n in ("age", *"abcd")), strict=True))
    sizes = np.array([rows.count(row) for row in rows])
    assert counts(found, "unique") == {True: (sizes == 1).sum(), False: 200}
    assert counts(found, "rare") == {True: (sizes < 5).sum(), False: 200}
    assert found.whole.combinations == 4


def test_entries_in_several_chunks_are_counted_together():
    chunks = pa.chunked_array([[1.5, 2.5], [2.5, 1.5], [7.5]])
    frame = pd.DataFrame({"age": pd.arrays.ArrowExtensionArray(chunks)})
    for table in (frame, pa.table({"age": chunks}), pl.from_arrow(chunks).to_frame()):
        names = list(nw.from_native(table).columns)
        found = audit_release(table, Roles(**{"quasi-identifier": names}), Privacy(k=2))
        assert (found.groups, found.unique) == (3, 1)


def test_entries_that_no_file_can_hold_are_counted_by_type_and_text():
    table = ages(4).assign(pay=np.array([1, "1", 1, [1]], dtype=object), sex="m")
    assert counts(audit_release(table, BESIDE, Privacy(k=2)), "unique") == {
        True: 0,
        False: 2,
    }


def test_an_array_counts_like_a_table():
    X = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, 6.0], [2.0, 7.0]])
    roles = {"quasi-identifier": ["0"], "other": ["1"]}
    asked = aggopt.Job(roles=roles, privacy={"k": 2})
    assert counts(aggopt.mask(X, asked).audit, "unique") == {True: 2}


def test_a_written_release_is_counted_alike(tmp_path):
    release = aggopt.mask(people(), job())
    assert release.audit.beside
    for ending in ("csv", "parquet"):
        table = release.write(tmp_path / f"{ending}.{ending}").table
        read = pd.read_csv if ending == "csv" else pd.read_parquet
        again = audit_release(read(table), job().roles.released, job().privacy)
        assert again.beside == release.audit.beside


def test_columns_that_differ_in_every_record_are_asked_about():
    roles = Roles(**{**ROLES, "identifier": [], "other": ["note", "name"]})
    frame = people(6).assign(age=1, income=2.0)
    said = "'name' (other) differs in every record: is it an identifier?"
    assert said in audit_release(frame, roles, Privacy(k=2)).notes
    frame["name"] = ["a", "a", *"bcde"]
    assert said not in audit_release(frame, roles, Privacy(k=2)).notes
    assert audit_release(frame[:1], roles, Privacy(k=2)).notes == ()
    assert said in audit_release(frame[1:3], roles, Privacy(k=2)).notes
    frame["name"] = np.arange(6) + 0.5  # numbers differ: they name nobody by that
    assert said not in audit_release(frame, roles, Privacy(k=2)).notes


def test_what_leaves_all_alone_is_said_once():
    table = ages(3, 3).assign(sex=np.arange(6), pay=np.arange(6) / 7)
    table = pd.concat([table] * 5).assign(pay=np.arange(30))
    table["sex"] = np.tile(np.arange(15), 2)
    table["age"] = np.repeat([1, 2], 15)
    found = audit_release(table, BESIDE, Privacy(k=3))
    assert counts(found, "unique") == {True: 30, False: 30}
    assert "also knew" not in found.verdict


def test_one_combination_of_one_record_is_no_plural():
    assert audit_release(
        ages(3), Roles(**{"quasi-identifier": ["age"]}), Privacy(k=3)
    ).verdict == (
        "k = 3 holds: 3 records, 1 published combination, the rarest in 3 records."
    )
    broken = audit_release(
        ages(1, 3), Roles(**{"quasi-identifier": ["age"]}), Privacy(k=3)
    )
    assert broken.verdict.endswith("2 published combinations, the rarest in 1 record.")


def test_of_one_and_of_many_a_warning_speaks_rightly():
    pay = {"privacy": Privacy(k=2, scope="blocks"), "blocks": [["age"], ["pay"]]}
    one = pd.DataFrame({"age": [1, 1, 1, 2], "pay": [3, 3, 3, 3]})
    said = audit_release(one, PAIR, **pay).warning
    assert said.endswith("quasi-identifiers: 1 of 4 records is unique.")
    more = pd.DataFrame({"age": [1, 1, 4, 2], "pay": [3, 3, 3, 3]})
    said = audit_release(more, PAIR, **pay).warning
    assert said.endswith("quasi-identifiers: 2 of 4 records are unique.")


def test_what_is_no_table_in_memory_or_no_block_is_refused_by_its_name():
    lazy = pl.LazyFrame({"age": [1, 1]})
    with pytest.raises(TypeError, match="eager_only"):
        audit_release(lazy, AGE, Privacy(k=2))
    with refused(JobError, "'pay'"):
        audit_release(ages(2), AGE, Privacy(k=2), [["age"], ["pay"]])


# --- what is asked beside k


SOME = pd.DataFrame(
    {
        "age": [1.0, 1, 1, 2, 2, np.nan],
        "pay": ["1,5", "1,5", "2,5", "2,5", "9", "9"],
        "region": [0, 0, 0, 0, 1, 1],
        "w": [9, 9, 1, 1, 1, 1],
    }
)
PEOPLE = np.array([0, 0, 1, 2, 2, 2])
ROLE = {"quasi-identifier": ["age"]}
TWO = {"quasi-identifier": ["age", "pay"]}


def asked(roles, blocks=None, **how):
    return audit_release(SOME, Roles(**roles), Privacy(k=2), blocks, **how)


def test_missing_values_are_counted_and_what_equals_them_only_if_asked():
    assert asked(ROLE).missing == MissingValues(1, 1)
    assert asked(ROLE, compatible=True).missing == MissingValues(1, 1, compatible=3)


def test_columns_that_must_not_be_there_are_those_that_are_named():
    roles = {**ROLE, "identifier": ["w"]}
    assert asked(roles).identifiers == ("w",)
    assert asked(roles, dropped=["pay", "gone"]).identifiers == ("pay",)


def test_units_are_counted_in_each_block_and_by_what_is_known_of_them():
    found = asked(TWO, [["age"], ["pay"]], units=PEOPLE)
    assert [count.what for count in (found.whole, *found.blocks)] == ["unit"] * 3
    assert [count.rarest for count in found.blocks] == [1, 1]
    assert any(note.startswith("Units are not published.") for note in found.notes)
    assert not any("Units" in note for note in asked(TWO).notes)


def test_strata_and_published_weights_count_in_each_combination():
    found = asked({**ROLE, "stratum": ["region"], "weight": ["w"]})
    assert (found.strata, found.weight) == (("region",), "w")
    sizes = SOME.groupby(["age", "region", "w"], dropna=False).size()
    assert found.groups == found.blocks[0].combinations == len(sizes) == 5
    assert (found.unique, found.blocks[0].unique) == ((sizes == 1).sum(),) * 2
    assert found.blocks[0].attributes == ("age", "region")
    plain = asked({**ROLE, "weight": ["gone"]})
    assert (plain.groups, plain.strata, plain.weight) == (3, (), None)


def test_promises_of_confidential_values_are_counted_among_equal_weights():
    frame = pd.DataFrame({"age": 1, "w": [1, 1, 2, 2], "ill": ["a", "b", "a", "a"]})
    roles = {"quasi-identifier": ["age"], "confidential": ["ill"], "weight": ["w"]}
    privacy = Privacy(k=2, l=2, repair={"method": "merge"})
    (found,) = audit_release(frame, Roles(**roles), privacy).promises
    assert (found.found, found.groups, found.broken) == (1, 2, 1)
    (dropped,) = audit_release(
        frame.drop(columns="w"), Roles(**roles), privacy
    ).promises
    assert (dropped.found, dropped.groups) == (2, 1)


def test_bounds_are_of_numbers_as_the_file_spells_them():
    bounds = {"pay": AttributeSection(lower=2, upper=8)}
    assert asked(ROLE).within == ()
    (found,) = asked(ROLE, bounds=bounds, decimal=",").within
    assert (found.attribute, found.beyond) == ("pay", 4)
    (found,) = asked(ROLE, bounds=bounds).within
    assert found.beyond == 6


def test_no_record_has_most_of_the_weight_of_its_combination():
    dominance = Dominance(SOME["w"].to_numpy(float), 0.9, "w")
    (found,) = asked(ROLE, dominance=(dominance,)).promises
    assert (found.promise, found.attribute, found.found) == ("dominance", "w", 1.0)
    assert (found.groups, found.broken) == (3, 1)
    assert asked(ROLE).promises == ()


# --- parts of a release


@pytest.mark.parametrize("seed", range(8))
def test_parts_together_have_the_audit_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    n = 60
    table = pd.DataFrame(
        {
            "age": rng.integers(0, 5, n) + rng.choice([0.0, 0.5], n),
            "pay": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 2, n)),
            "region": rng.choice(["north", "south"], n),
            "ill": rng.choice(["flu", "none", "gout"], n),
            "note": rng.choice(["a", "b"], n),
        }
    )
    roles = Roles(
        **{
            "identifier": ["name"],
            "quasi-identifier": ["age", "pay"],
            "stratum": ["region"],
            "confidential": ["ill"],
            "other": ["note"],
        }
    )
    privacy = Privacy(k=3, l=2, risk=0.25, average_risk=0.4, repair="merge")
    bounds = {"age": AttributeSection(lower=1, upper=4, integer=True)}
    weights = rng.gamma(1.0, 5.0, n)
    group = table.groupby(["age", "pay", "region"], dropna=False).ngroup().to_numpy()
    place = rng.integers(0, 3, group.max() + 1)[group]  # equal records in one part

    def audited(rows):
        frame = nw.from_native(table[rows], eager_only=True)
        return audit_part(
            frame,
            Combinations.of(frame, roles, [roles.quasi_identifier]),
            roles,
            privacy.k,
            read_confidential_attributes(frame, roles, privacy, "."),
            decimal=".",
            bounds=bounds,
            dominance=[Dominance(weights[rows], 0.7, "w")],
        )

    parts = [audited(place == number) for number in np.unique(place)]
    merged = merge_audits(parts, roles, privacy, roles.dropped)
    whole = audit_release(
        table, roles, privacy, bounds=bounds, dominance=[Dominance(weights, 0.7, "w")]
    )
    beside = tuple(replace(each, sufficient=()) for each in whole.beside)
    assert merged.beside == beside
    assert merged.missing == whole.missing
    assert merged.promises == whole.promises
    for name in ("records", "whole", "blocks", "within", "limits", "verdict"):
        assert getattr(merged, name) == getattr(whole, name), name
    assert merged.whole.total == n
    assert not merged.holds


def test_the_advice_counts_columns_that_its_heading_does_not_name():
    """Without the first column each record is unique with the second one."""
    frame = pd.DataFrame({"age": [20.0] * 3 + [60.0] * 3, "a": range(6)})
    job = aggopt.Job(
        roles={"quasi-identifier": ["age"], "other": ["a", "b"]}, privacy={"k": 3}
    )
    seal = aggopt.mask(frame.assign(b=frame["a"][::-1].to_numpy()), job).audit.seal
    assert seal.heading.endswith("unique with 'a'")
    assert seal.advice.endswith(
        "1 more column of the role other may single records out, too: recount after a "
        "change."
    )
    one = aggopt.Job(
        roles={"quasi-identifier": ["age"], "other": ["a"]}, privacy={"k": 3}
    )
    assert aggopt.mask(frame, one).audit.seal.advice.endswith("or drop them.")
