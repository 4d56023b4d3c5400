"""The job: one TOML file, one Python object, the same refusals."""

import numpy as np
import pandas as pd
import pytest
from tables import ROLES, job

from aggopt import Job
from aggopt.errors import JobError, UnknownNameError

TEXT = """
[roles]
identifier = ["name"]
quasi-identifier = ["age", "income"]
confidential = ["illness"]
other = ["note"]
[privacy]
k = 4
[partition]
method = "mdav"
ending = "nearest"
[aggregation]
method = "p3m"
delta = 0.2
solver = "uno"
[aggregation.options]
max_iterations = 50
[output]
shuffle = true
seed = 3
"""


@pytest.mark.parametrize("repair", [None, "merge"])
def test_diverse_groups_are_not_recursive(repair):
    privacy = {"k": 3, "l": 2, "diversity": "recursive", "c": 2.0, "repair": repair}
    with pytest.raises(JobError) as refused:
        job(**{"privacy": privacy, "partition": {"method": "diverse_vmdav"}})
    assert refused.value.problem.startswith("diverse_vmdav makes groups of distinct")
    assert 'method = "vmdav", with repair = "merge"' in refused.value.fix


def read(tmp_path, text):
    path = tmp_path / "job.toml"
    path.write_text(text)
    return Job.read(path)


def test_a_file_and_an_object_say_the_same(tmp_path):
    assert read(tmp_path, TEXT) == Job(
        roles=ROLES,
        privacy={"k": 4},
        partition={"method": "mdav", "ending": "nearest"},
        aggregation={
            "method": "p3m",
            "delta": 0.2,
            "solver": "uno",
            "options": {"max_iterations": 50},
        },
        output={"shuffle": True, "seed": 3},
    )


def test_settings_are_the_arguments_of_the_method():
    assert job(partition={"method": "mdav"}).partition.settings == {"ending": "3k"}


def test_a_job_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        job().privacy = None


UNKNOWN = [
    ({"agregation": {}}, "key of the job", "aggregation"),
    ({"output": {"shufle": True}}, r"key of \[output\]", "shuffle"),
    ({"roles": {**ROLES, "confidental": []}}, r"key of \[roles\]", "confidential"),
    ({"privacy": {"k": 3, "kk": 3}}, r"key of \[privacy\]", "k"),
    (
        {"aggregation": {"method": "p3m", "dleta": 1}},
        r"key of \[aggregation\]",
        "delta",
    ),
    ({"aggregation": {"method": "p3n"}}, "aggregation method", "p3m"),
    ({"partition": {"method": "mdva"}}, "partition method", "mdav"),
    ({"partition": {"method": "individual"}}, "partition method", "individual_ranking"),
    (
        {"partition": {"method": "cbfs", "atributes": "together"}},
        r"key of \[partition\]",
        "attributes",
    ),
    (
        {"partition": {"method": "individual_ranking", "optons": {}}},
        r"key of \[partition\]",
        "options",
    ),
    (
        {"partition": {"method": "mdav", "attributes": "one by won"}},
        "way to group attributes",
        "one by one",
    ),
    ({"privacy": {"k": 3, "scop": "blocks"}}, r"key of \[privacy\]", "scope"),
]


@pytest.mark.parametrize(("sections", "place", "nearest"), UNKNOWN)
def test_unknown_keys_are_refused_with_the_nearest_known(sections, place, nearest):
    with pytest.raises(UnknownNameError, match=f"No {place}") as refusal:
        job(**sections)
    assert f"did you mean {nearest!r}?" in refusal.value.fix


WRONG = [
    ({"k": 1}, r"k = 1\..*\n.*at least 2"),
    ({"k": 0}, r"k = 0\."),
    ({"k": 3.0}, "privacy.k is 3.0: write a whole number"),
    ({"k": "3"}, "privacy.k is '3'"),
    ({"k": True}, "privacy.k is True"),
    ({"aggregation": {"delta": 0.2}}, r"\[aggregation\] names no method"),
    ({"aggregation": {"method": "p3m", "delta": -1}}, "delta is -1"),
    ({"aggregation": {"method": "p3m", "importance": "a"}}, "importance is 'a'"),
    ({"aggregation": {"method": "p3m", "delta": {"relativ": 1}}}, "relative = r"),
    ({"aggregation": {"method": "p3m", "alpha": 1.1}}, "alpha is 1.1"),
    ({"aggregation": {"method": "p3m", "time_limit": 0}}, "time_limit is 0"),
    ({"aggregation": {"method": "median", "keep": "variance"}}, "keep"),
    ({"partition": {"method": "cbfs", "ending": "3k"}}, "ending"),
    ({"partition": {"method": "mdav", "ending": "2k"}}, "ending is '2k'"),
    ({"partition": {"method": "mhm", "order": "xyz"}}, "order is 'xyz'"),
    ({"partition": {"method": "projection", "axis": "x"}}, "axis is 'x'"),
    ({"partition": {"method": "univariate", "cost": "x"}}, "cost is 'x'"),
    ({"partition": {"method": "univariate", "time_limit": 0}}, "time_limit is 0"),
    ({"partition": {"time_limit": "2"}}, r"\[partition\] time_limit is '2'"),
    (
        {"partition": {"method": "optimal", "time_limit": True}},
        r"\] time_limit is True",
    ),
    ({"partition": {"method": "optimal", "gap_tol": 1.0}}, "gap_tol is 1.0: .* below"),
    (
        {"partition": {"method": "optimal", "gap_tol": -0.1}},
        "gap_tol is -0.1: .* of at",
    ),
    ({"partition": {"method": "optimal", "gap_tol": "0"}}, "gap_tol is '0': .* number"),
    ({"partition": {"method": "blocked", "block_size": 6.0}}, r"\] block_size is 6.0"),
    (
        {"partition": {"method": "blocked", "block_size": 3}},
        r"\] block_size = 3, and",
    ),
    (
        {"partition": {"method": "local_search", "time_limit": 1, "effort": "best"}},
        r"\[partition\] effort = 'best' and time_limit are both set",
    ),
    (
        {"partition": {"method": "optimal", "solver": "lagrangian"}},
        r"\[partition\] solver",
    ),
    ({"partition": {"method": "optimal", "solver": "hihgs"}}, "mean 'highs'"),
    (
        {"aggregation": {"method": "p3m", "solver": "ipoptt"}},
        r"\[aggregation\] solver.*mean 'ipopt'",
    ),
    (
        {"aggregation": {"method": "satisfaction", "solver": "highs"}},
        "does not take problems of class MINLP.*choose one of lagrangian",
    ),
    (
        {"partition": {"method": "individual_ranking", "solver": "dinamic"}},
        r"\[partition\] solver.*mean 'dynamic'",
    ),
    (
        {"partition": {"method": "univariate", "solver": "uno"}},
        "does not take problems of class LP",
    ),
    (
        {
            "privacy": {
                "k": 3,
                "t": 0.2,
                "repair": {"method": "swap", "solver": "hihgs"},
            }
        },
        r"\[privacy\] solver.*mean 'highs'",
    ),
    ({"privacy": {"k": 3, "scope": "block"}}, "scope is 'block'.*'blocks'"),
    ({"input": {"separator": ";;"}}, "separator is ';;'"),
    ({"input": {"decimal": ";"}}, "decimal is ';'"),
    ({"output": {"shuffle": "yes"}}, "shuffle is 'yes'"),
    ({"roles": {"quasi-identifier": []}}, "quasi-identifier is empty"),
    ({"output": {"shuffle": False, "seed": 1}}, "seed is given, but shuffle is false"),
    ({"input": {"separator": ",", "decimal": ","}}, "are the same"),
    ({"input": {"separator": '"'}}, "separator is"),
    ({"aggregation": {"method": "p3m", "delta": "0.1"}}, "delta is '0.1'"),
    ({"aggregation": {"method": "p3m", "importance": True}}, "importance is True"),
    ({"aggregation": {"method": "p3m", "alpha": "0.5"}}, "alpha is '0.5'"),
    ({"aggregation": {"method": "p3m", "time_limit": float("inf")}}, "time_limit is"),
    ({"aggregation": {"method": "p3m", "delta": {"colum": "a"}}}, r"\['colum'\]"),
    (
        {"roles": {"quasi-identifier": "age"}},
        "quasi-identifier is 'age'.*write a list of names",
    ),
]


@pytest.mark.parametrize(("sections", "message"), WRONG)
def test_values_out_of_range_are_refused(sections, message):
    with pytest.raises(JobError, match=f"(?s){message}") as refusal:
        job(**sections)
    assert refusal.value.fix


BLOCKS = r"blocks of names \[\[\"NAME\", ...\], ...\], or \{ correlation = r \}"
NO_ATTRIBUTES = [
    (3, "3"),
    (["age", "income"], "a list"),
    ([["age", 3]], "a list"),
    ({"corelation": 0.5}, r"a table with the keys \['corelation'\]"),
    ({"correlation": 0.5, "least": 1}, r"\['correlation', 'least'\]"),
]


@pytest.mark.parametrize(("attributes", "message"), NO_ATTRIBUTES)
def test_what_is_no_way_to_group_attributes_is_refused(attributes, message):
    with pytest.raises(
        JobError, match=f"(?s)partition.attributes is .*{message}.*{BLOCKS}"
    ):
        job(partition={"method": "mdav", "attributes": attributes})


@pytest.mark.parametrize("least", [1.5, "0.5", True])
def test_a_correlation_out_of_range_is_named(least):
    with pytest.raises(JobError, match=f"(?s)correlation is {least!r}.*from 0 to 1"):
        job(partition={"method": "mdav", "attributes": {"correlation": least}})


def test_individual_ranking_has_no_choice_of_attributes():
    with pytest.raises(JobError, match="'individual_ranking' takes no attributes"):
        job(partition={"method": "individual_ranking", "attributes": "together"})


@pytest.mark.parametrize(
    ("section", "settings"),
    [
        ({"method": "cbfs"}, {}),
        ({"method": "mhm", "order": "tsp"}, {"order": "tsp", "starts": None}),
        ({"method": "projection", "axis": "zsum"}, {"axis": "zsum"}),
        (
            {"method": "optimal", "gap_tol": 0.01},
            {"solver": None, "time_limit": None, "gap_tol": 0.01, "seed": 0},
        ),
        (
            {"method": "univariate", "cost": "sae", "time_limit": 3.0},
            {
                "cost": "sae",
                "centroids": "any",
                "solver": None,
                "time_limit": 3.0,
                "options": {},
            },
        ),
    ],
)
def test_attributes_are_no_argument_of_the_method(section, settings):
    made = job(partition={**section, "attributes": "one by one"}).partition
    assert made.settings == settings
    assert made.function == made.method


def test_individual_ranking_is_univariate_one_by_one():
    made = job(partition={"method": "individual_ranking"}).partition
    assert (made.function, made.attributes) == ("univariate", "one by one")
    assert "attributes" not in made.settings


def test_blocks_in_a_file(tmp_path):
    text = TEXT.replace('ending = "nearest"', 'attributes = [["income"], ["age"]]')
    assert read(tmp_path, text).partition.attributes == (("income",), ("age",))
    text = TEXT.replace('ending = "nearest"', "attributes = { correlation = 0.5 }")
    assert read(tmp_path, text).partition.attributes.correlation == 0.5


def test_sections_that_must_be_there():
    with pytest.raises(JobError, match="roles is missing; privacy is missing"):
        Job()


@pytest.mark.parametrize(
    ("text", "message"),
    [("k = ", "is not a TOML file"), ("[privacy]\nk = 3", "roles is missing")],
)
def test_unusable_files_are_refused(tmp_path, text, message):
    with pytest.raises(JobError, match=message):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(JobError, match=r"No such file.*\n.*aggopt init"):
        Job.read(tmp_path / "none.toml")


def test_a_column_given_for_a_list_of_names_is_not_quoted():
    names = pd.Series(["Ms Secret", "Mr Secret"])
    with pytest.raises(JobError, match="identifier is a Series") as refusal:
        job(roles={**ROLES, "identifier": names})
    assert "Secret" not in str(refusal.value)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    assert read(tmp_path, "\ufeff" + TEXT).privacy.k == 4


def test_k_may_be_a_numpy_integer():
    assert job(np.int64(4)).privacy.k == 4


def test_a_solver_that_is_not_installed_is_no_fault_of_the_job():
    aggregation = {"method": "p3m", "solver": "cvxpy:knitro"}
    job = Job(
        roles={"quasi-identifier": ["age"]}, privacy={"k": 3}, aggregation=aggregation
    )
    assert job.aggregation.solver == "cvxpy:knitro"


def test_numbers_in_the_place_of_names_do_not_make_a_list_empty():
    with pytest.raises(JobError, match=r"identifier\.0 is 0: write text") as no:
        Job(roles={"quasi-identifier": [0, 1]}, privacy={"k": 3})
    assert "is empty" not in str(no.value)
