"""The job: one TOML file, one Python object, the same refusals."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused
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
    with refused(JobError, "diverse_vmdav"):
        job(**{"privacy": privacy, "partition": {"method": "diverse_vmdav"}})


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
    {"agregation": {}},
    {"output": {"shufle": True}},
    {"roles": {**ROLES, "confidental": []}},
    {"privacy": {"k": 3, "kk": 3}},
    {"aggregation": {"method": "p3m", "dleta": 1}},
    {"aggregation": {"method": "p3n"}},
    {"partition": {"method": "mdva"}},
    {"partition": {"method": "individual"}},
    {"partition": {"method": "cbfs", "atributes": "together"}},
    {"partition": {"method": "individual_ranking", "optons": {}}},
    {"partition": {"method": "mdav", "attributes": "one by won"}},
    {"privacy": {"k": 3, "scop": "blocks"}},
]


@pytest.mark.parametrize("sections", UNKNOWN)
def test_unknown_keys_are_refused_with_the_nearest_known(sections):
    with refused(UnknownNameError):
        job(**sections)


WRONG = [
    {"k": 1},
    {"k": 0},
    {"k": 3.0},
    {"k": "3"},
    {"k": True},
    {"aggregation": {"delta": 0.2}},
    {"aggregation": {"method": "p3m", "delta": -1}},
    {"aggregation": {"method": "p3m", "importance": "a"}},
    {"aggregation": {"method": "p3m", "delta": {"relativ": 1}}},
    {"aggregation": {"method": "p3m", "alpha": 1.1}},
    {"aggregation": {"method": "p3m", "time_limit": 0}},
    {"aggregation": {"method": "median", "keep": "variance"}},
    {"partition": {"method": "cbfs", "ending": "3k"}},
    {"partition": {"method": "mdav", "ending": "2k"}},
    {"partition": {"method": "mhm", "order": "xyz"}},
    {"partition": {"method": "projection", "axis": "x"}},
    {"partition": {"method": "univariate", "cost": "x"}},
    {"partition": {"method": "univariate", "time_limit": 0}},
    {"partition": {"time_limit": "2"}},
    {"partition": {"method": "optimal", "time_limit": True}},
    {"partition": {"method": "optimal", "gap_tol": 1.0}},
    {"partition": {"method": "optimal", "gap_tol": -0.1}},
    {"partition": {"method": "optimal", "gap_tol": "0"}},
    {"partition": {"method": "blocked", "block_size": 6.0}},
    {"partition": {"method": "blocked", "block_size": 3}},
    {"partition": {"method": "local_search", "time_limit": 1, "effort": "best"}},
    {"partition": {"method": "optimal", "solver": "lagrangian"}},
    {"partition": {"method": "optimal", "solver": "hihgs"}},
    {"aggregation": {"method": "p3m", "solver": "ipoptt"}},
    {"aggregation": {"method": "satisfaction", "solver": "highs"}},
    {"partition": {"method": "individual_ranking", "solver": "dinamic"}},
    {"partition": {"method": "univariate", "solver": "uno"}},
    {"privacy": {"k": 3, "t": 0.2, "repair": {"method": "swap", "solver": "hihgs"}}},
    {"privacy": {"k": 3, "scope": "block"}},
    {"input": {"separator": ";;"}},
    {"input": {"decimal": ";"}},
    {"output": {"shuffle": "yes"}},
    {"roles": {"quasi-identifier": []}},
    {"output": {"shuffle": False, "seed": 1}},
    {"input": {"separator": ",", "decimal": ","}},
    {"input": {"separator": '"'}},
    {"aggregation": {"method": "p3m", "delta": "0.1"}},
    {"aggregation": {"method": "p3m", "importance": True}},
    {"aggregation": {"method": "p3m", "alpha": "0.5"}},
    {"aggregation": {"method": "p3m", "time_limit": float("inf")}},
    {"aggregation": {"method": "p3m", "delta": {"colum": "a"}}},
    {"roles": {"quasi-identifier": "age"}},
]


@pytest.mark.parametrize("sections", WRONG)
def test_values_out_of_range_are_refused(sections):
    with refused(JobError) as refusal:
        job(**sections)
    assert refusal.value.fix


NO_ATTRIBUTES = [
    3,
    ["age", "income"],
    [["age", 3]],
    {"corelation": 0.5},
    {"correlation": 0.5, "least": 1},
]


@pytest.mark.parametrize("attributes", NO_ATTRIBUTES)
def test_what_is_no_way_to_group_attributes_is_refused(attributes):
    with refused(JobError):
        job(partition={"method": "mdav", "attributes": attributes})


@pytest.mark.parametrize("least", [1.5, "0.5", True])
def test_a_correlation_out_of_range_is_named(least):
    with pytest.raises(JobError, match=f"(?s)correlation is {least!r}.*from 0 to 1"):
        job(partition={"method": "mdav", "attributes": {"correlation": least}})


def test_individual_ranking_has_no_choice_of_attributes():
    with refused(JobError, "'individual_ranking'"):
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
    with refused(JobError, "[roles]", "[privacy]"):
        Job()
    with refused(JobError, "[privacy]", "k = 5") as error:
        Job(roles={"quasi-identifier": ["a"]})
    assert "[roles]" not in str(error.value)


@pytest.mark.parametrize("text", ["k = ", "[privacy]\nk = 3"])
def test_unusable_files_are_refused(tmp_path, text):
    with refused(JobError):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with refused(JobError):
        Job.read(tmp_path / "none.toml")


def test_a_column_given_for_a_list_of_names_is_not_quoted():
    names = pd.Series(["Ms Secret", "Mr Secret"])
    with refused(JobError) as refusal:
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
    with refused(JobError) as no:
        Job(roles={"quasi-identifier": [0, 1]}, privacy={"k": 3})
    assert "is empty" not in str(no.value)
