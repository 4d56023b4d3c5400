"""A measure of the user's: one finite number beside those of the package."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt import Job
from aggopt.core.plugins.loading import trust_files
from aggopt.errors import JobError, UnknownNameError, UntrustedCodeError
from aggopt.measure import MEASURES, assess
from aggopt.measure.registry import OwnMeasure

X = np.array([[0.0], [2.0], [4.0], [6.0]])
Y = np.array([[1.0], [1.0], [5.0], [5.0]])


def shift(original, released):
    return np.abs(original - released).max()


def test_it_is_found_beside_the_others() -> None:
    found = assess(X, Y, extra={"my shift": shift})
    assert found.own == (("my shift", 1.0),)
    assert type(found["my shift"]) is float
    assert found["il"] == assess(X, Y)["il"]
    assert found.to_dict()["own"] == {"my shift": 1.0}
    assert "own" not in assess(X, Y).to_dict()
    assert str(found).endswith("\n\nOf your own\n  my shift              1")
    assert "Of your own" not in str(assess(X, Y))
    assert assess(X, Y, extra=[shift]).own == (("shift", 1.0),)
    with pytest.raises(UnknownNameError):
        assess(X, Y)["shift"]


def test_values_that_are_numbers_are_taken() -> None:
    for value in (1, np.float32(1), np.int64(1), Fraction(1), 1.0):
        assert assess(X, Y, extra={"x": lambda a, b, v=value: v}).own == (("x", 1.0),)


@pytest.mark.parametrize(
    "value", ["4711", None, True, np.array([1.0, 2.0]), float("nan"), -np.inf]
)
def test_what_is_no_number_is_refused(value) -> None:
    def odd(original, released):
        return value

    with refused(JobError):
        assess(X, Y, extra=[odd])


def needing(original, released, *, width):
    return width


@pytest.mark.parametrize(
    "extra",
    [
        {"il": shift},
        {"types": shift},
        {"own": shift},
        [shift, shift],
        ["il"],
        [needing],
        [lambda original: 1.0],
        [3],
        ["shfit"],
    ],
)
def test_what_cannot_be_measured_is_refused_before_any_work(extra) -> None:
    with refused(JobError):
        assess(X, Y, extra=extra)


def test_a_name_that_is_taken_is_refused_with_what_to_do() -> None:
    with refused(JobError, "'sl'"):
        assess(X, Y, extra={"sl": shift})


def large(original, released):
    return 10**400


class Float(Fraction):
    def __float__(self):
        raise ValueError("987654")


def odd(original, released):
    return Float(1)


@pytest.mark.parametrize(
    ("measure", "kind"), [(large, "an OverflowError"), (odd, "a ValueError")]
)
def test_a_number_that_cannot_be_converted_is_a_failure_of_the_measure(
    measure, kind
) -> None:
    with pytest.raises(JobError) as error:
        assess(X, Y, extra=[measure])
    assert error.value.problem.startswith(f"{measure.__name__} fails with {kind}")
    assert "987654" not in str(error.value)


def test_it_gets_copies_of_numbers() -> None:
    seen = []

    def looks(original, released):
        seen.extend([original, released])
        original[:] = released[:] = 0.0
        return 0

    before = X.copy(), Y.copy()
    assess(X, Y, extra=[looks])
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])
    assert [type(table) for table in seen] == [np.ndarray, np.ndarray]


def test_it_gets_copies_of_tables() -> None:
    def clears(original, released):
        original["b"] = released["b"] = 0.0
        original.loc[0, "a"] = released.loc[0, "a"] = "z"
        return 0

    frame = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": [1.0, 2.0, 3.0, 4.0]})
    other, before = frame.copy(), frame.copy()
    assess(frame, other, extra=[clears])
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(other, before)


def test_what_it_is_stands_with_it() -> None:
    measure = MEASURES.adopt(shift)
    assert isinstance(measure.function, OwnMeasure)
    assert (measure.name, measure.range, measure.better) == ("shift", "..", "-")
    assert (measure.source, measure.heading) == ("object shift", None)
    assert measure.when == "a measure of your own"


CODE = "def gap(original, released):\n    return abs(original - released).max()\n"


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return path


def test_a_job_names_it(code, tmp_path) -> None:
    asked = job(measures={"extra": [f"{code}:gap"]})
    with refused(UntrustedCodeError, "[measures]"):
        aggopt.mask(people(), asked)
    release = aggopt.mask(people(), asked, trust=[code])
    ((name, value),) = release.measures.own
    assert name == "mine.py:gap"
    names = ["age", "income"]
    moved = (people()[names] - release.table[names]).abs().to_numpy()
    assert value == pytest.approx(moved.max())
    stated = release.manifest()
    assert stated["measures"]["own"] == {"mine.py:gap": value}
    assert stated["job"]["measures"]["extra"] == ["mine.py:gap"]
    assert [each["kind"] for each in stated["code"]] == ["measures"]
    files = release.write(tmp_path / "masked.csv")
    again = aggopt.repeat(
        files.manifest, people(), tmp_path / "again.csv", trust=[code]
    )
    assert again.table.read_bytes() == files.table.read_bytes()


def test_a_job_file_names_it_from_where_it_lies(code, tmp_path) -> None:
    text = job(measures={"extra": ["mine.py:gap"]}).to_toml()
    (tmp_path / "job.toml").write_text(text)
    read = Job.read(tmp_path / "job.toml")
    assert read.measures.extra == (f"{code}:gap",)
    assert read.measures.own == {}
    with trust_files([code]):
        assert list(read.load_code().measures.own) == ["mine.py:gap"]


def test_a_job_takes_functions_and_leaves_out_what_names_none() -> None:
    found = aggopt.mask(people(), job(measures={"extra": [shift]}))
    assert [name for name, _ in found.measures.own] == ["shift"]
    assert "measures" not in job().model_dump()
    assert job(measures={"extra": []}) == job()
    with refused(JobError, "measures.extra"):
        job(measures={"extra": 3})
    with refused(JobError, "extra"):
        job(measures={"extr": []})
    with refused(JobError, "write text"):
        job(measures={"extra": [3]})
