"""A job comes back from a dump, from JSON, from TOML and from a manifest."""

import json
import tomllib

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from tables import MDAV, PAIRS, ROLES, TREE, job, people, promising, salaried

import aggopt
from aggopt import Job
from aggopt.errors import JobError

GROUPINGS = [
    {},
    {"time_limit": 2.0},
    {"method": "local_search", "initial": "cbfs", "effort": "best", "seed": 3},
    {"method": "local_search", "time_limit": 1},
    {"method": "blocked", "inner": "vmdav", "block_size": 100, "time_limit": 0.5},
    {"method": "optimal", "solver": "highs", "time_limit": 3},
    {"method": "mdav", "ending": "nearest", "attributes": PAIRS},
    {"method": "cbfs", "attributes": "one by one"},
    {"method": "mhm", "order": "tsp", "starts": 4},
    {"method": "projection", "axis": "zsum", "attributes": {"correlation": 0.5}},
    {"method": "vmdav", "gamma": 0.3, "centroid": "remaining"},
    {"method": "univariate", "cost": "sae", "solver": "cvxpy:highs", "time_limit": 3},
    {"method": "individual_ranking", "centroids": "integer"},
    {"method": "diverse_vmdav"},
    {"method": "merge_until_close", "initial": "mhm"},
    {"method": "anonymity_first"},
    {"method": "closeness_first"},
]
WISHES = [
    0.3,
    {"relative": 0.1},
    {"column": "far"},
    {"attributes": {"age": 0.1, 'in"come\n': {"relative": 0.2}, "": {"column": "a.b"}}},
]
AGGREGATIONS = [
    {"method": "mean", "keep": "variance"},
    {"method": "median"},
    *({"method": "p3m", "delta": wish, "importance": 0.5} for wish in WISHES),
    {
        "method": "p3m_onesided",
        "alpha": 0.2,
        "start": "lagrangian",
        "starts": 3,
        "seed": 0,
    },
    {"method": "satisfaction", "price": 2.0, "time_limit": 4, "solver": None},
    {
        "method": "p3m",
        "solver": "uno",
        "options": {"a.b": np.int64(3), "list": (1, 2.5, "x"), "in": {"er": True}},
    },
]
PROMISES = [
    {"k": 3, "scope": "blocks"},
    {"k": 3, "l": None, "c": None, "t": None, "repair": None},
    {"k": 3, "l": 2, "repair": "merge"},
    {"k": 3, "l": 2, "diversity": "recursive", "c": 3},
    {"k": 3, "l": 3, "confidential": {"x.y": {"levels": 4}, "z": {"levels": (1, 2)}}},
    {"k": 3, "t": 0.2, "repair": {"method": "swap", "solver": "highs"}},
    {"k": 3, "t": 0.2, "confidential": {"a": {"order": (True, 2, 0.5, "low")}}},
    {
        "k": np.int64(3),
        "t": 0.25,
        "distance": "equal",
        "confidential": {
            "illness": {"distance": "hierarchical", "tree": TREE},
            "job": {"tree": {"a": ("b", 1, 1.5, False)}, "missing": "own value"},
            "none": {},
            "unset": {"distance": None, "order": None, "tree": None, "levels": None},
        },
    },
]
FILES = [
    {"input": {"separator": ";", "decimal": ",", "multiline": True}},
    {"input": {"separator": "\t"}, "output": {"shuffle": False}},
    {"output": {"seed": 2**130, "round_integers": True}},
]
JOBS = [
    *({"partition": how} for how in GROUPINGS),
    *({"aggregation": how} for how in AGGREGATIONS),
    *({"privacy": what} for what in PROMISES),
    *FILES,
    {"roles": {"quasi_identifier": ["ä", "b c", "#", "'", "\\"], "wish": ["far"]}},
]


def of_toml(made: Job) -> Job:
    return Job(**tomllib.loads(made.to_toml()))


def of_file(made: Job, tmp_path) -> Job:
    path = tmp_path / "job.toml"
    path.write_text(made.to_toml(), encoding="utf-8")
    return Job.read(path)


DUMPS = {
    "dump": lambda made: Job(**made.model_dump()),
    "aliases": lambda made: Job(**made.model_dump(by_alias=True)),
    "json": lambda made: Job(**json.loads(made.model_dump_json(by_alias=True))),
    "names": lambda made: Job(**json.loads(made.model_dump_json())),
    "set": lambda made: Job(**made.model_dump(exclude_unset=True)),
    "toml": of_toml,
}


@pytest.mark.parametrize("way", DUMPS)
@pytest.mark.parametrize("sections", JOBS)
def test_every_job_survives(sections, way):
    made = job(**sections)
    back = DUMPS[way](made)
    assert back == made
    assert hash(back) == hash(made)
    assert back.model_dump() == made.model_dump()


def test_a_job_survives_a_file(tmp_path):
    made = job(aggregation=AGGREGATIONS[-1], privacy=PROMISES[-1])
    assert of_file(made, tmp_path) == made


LEAVES = st.booleans() | st.integers() | st.text()
LEAVES |= st.floats(allow_nan=False, allow_infinity=False)
SETTINGS = st.dictionaries(
    st.text(),
    st.recursive(
        LEAVES, lambda of: st.lists(of) | st.dictionaries(st.text(), of), max_leaves=6
    ),
)


@examples(30)
@given(names=st.lists(st.text(), min_size=1), options=SETTINGS)
def test_whatever_names_and_options_survive(names, options):
    how = {"method": "p3m", "options": options}
    made = job(roles={"quasi-identifier": names}, aggregation=how)
    assert {way: back(made) for way, back in DUMPS.items()} == dict.fromkeys(
        DUMPS, made
    )


@pytest.mark.parametrize(
    ("frame", "asked"),
    [
        (people(30), job(partition={})),
        (people(30), job(partition={"time_limit": 0.1})),
        (people(30), job(aggregation={"method": "p3m", "delta": {"relative": 0.1}})),
        (salaried(60), promising(t=0.3, repair="merge", distance="ordered")),
    ],
)
def test_the_job_of_a_manifest_is_the_job_that_ran(frame, asked):
    release = aggopt.mask(frame, asked)
    stated = json.loads(json.dumps(release.manifest(), allow_nan=False))["job"]
    assert Job(**stated) == release.job
    assert stated["partition"]["method"] != "recommended"


UNSAYABLE = [float("inf"), None, {1: 2}, [{"a": object()}], b"secret", {"a", "b"}]


@pytest.mark.parametrize("setting", UNSAYABLE)
def test_an_option_that_no_file_can_hold_is_refused(setting):
    with refused(JobError) as error:
        job(aggregation={"method": "p3m", "options": {"a": setting}})
    assert "secret" not in str(error.value)


def test_what_does_not_act_is_still_refused_when_it_is_written():
    for sections in ({"diversity": "distinct"}, {"distance": "ordered"}):
        with refused(JobError):
            job(privacy={"k": 3, **sections})


def test_equal_jobs_have_one_hash_and_others_another():
    one = {"method": "p3m", "options": {"a": 1, "b": [2]}}
    same = {"method": "p3m", "options": {"b": (2,), "a": 1}}
    assert {job(aggregation=one): 1}[job(aggregation=same)] == 1
    assert len({job(k=k, partition=how) for k in (3, 4) for how in (MDAV, {})}) == 4
    assert job().roles in {Job(roles=ROLES, privacy={"k": 2}).roles}
