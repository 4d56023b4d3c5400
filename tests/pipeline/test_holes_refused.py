"""What is refused of tables with holes, and what is none."""

import warnings

import numpy as np
import pandas as pd
import pytest
from holed import asked, of_numbers, persons
from refusals import refused

import aggopt
from aggopt.errors import InfeasibleInputError, JobError, PrivacyError, TableError
from aggopt.job import Privacy
from aggopt.job.roles import Roles
from aggopt.release.audit.audit import audit_release
from aggopt.release.audit.originals import Originals


def test_a_single_value_is_refused_never_published():
    frame = persons()
    frame.loc[1:, "income"] = np.nan
    with refused(InfeasibleInputError, "'income'"):
        aggopt.mask(frame, asked())


@pytest.mark.parametrize("hole", [-999.0, -9.0, 99.0])
def test_codes_for_what_is_missing_are_values(hole):
    frame = persons(share=0.0)
    frame.loc[:40, "age"] = hole
    assert aggopt.mask(frame, asked()).audit.missing is None


def test_what_would_be_suppressed_altogether_is_refused():
    lone = [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [np.nan, 3.0, np.nan]]
    rest = [[float(i), np.nan, float(i)] for i in range(5)]
    frame = pd.DataFrame(lone + rest, columns=["a", "b", "c"])
    with refused(InfeasibleInputError, "'b'"):
        aggopt.mask(frame, of_numbers(["a", "b", "c"], 3))


def test_refusals_name_what_to_do():
    for name, seen in (("age", "'age': 9 missing"), ("sex", "12 values are missing")):
        with pytest.raises(TableError, match=seen) as error:
            aggopt.mask(persons(), asked(quasi=[name], missing={}))
        assert 'policy = "patterns" or "fill" under [missing]' in error.value.fix
    with refused(TableError, "'income'", "120"):
        aggopt.mask(persons().assign(income=np.nan), asked())
    with refused(TableError, "'town'", "120"):
        aggopt.mask(persons().assign(town=None), asked())
    with refused(JobError):
        aggopt.mask(
            persons(),
            asked(privacy={"k": 4, "l": 2}, partition={"method": "diverse_vmdav"}),
        )
    with refused(JobError, "report_compatible"):
        asked(missing={"report_compatible": True})
    frame = persons()[["age", "income"]]
    frame.loc[7:, "age"] = np.nan
    stretched = {"method": "mean", "keep": "variance"}
    job = of_numbers(["age", "income"], 4, aggregation=stretched)
    with refused(InfeasibleInputError):
        aggopt.mask(frame, job)
    joint = {"method": "mean", "keep": "covariance"}
    job = of_numbers(["age", "income"], 4, aggregation=joint)
    with refused(JobError):
        aggopt.mask(persons()[["age", "income"]], job)


def test_a_release_with_fewer_values_behind_one_than_k_is_refused():
    released = pd.DataFrame({"a": [2.0] * 4, "b": [7.0] * 4})
    before = np.array([[1.0, 7.0], [2.0, np.nan], [2.0, np.nan], [3.0, np.nan]])

    both = Originals(before, released.to_numpy(), np.zeros(2))
    roles = Roles(quasi_identifier=("a", "b"))
    found = audit_release(released, roles, Privacy(k=4), originals=both)
    assert (found.missing.least, found.missing.imputed, found.holds) == (1, 3, False)
    assert "DOES NOT HOLD" in found.verdict
    with refused(PrivacyError):
        found.require()
    assert audit_release(
        released, roles, Privacy(k=4)
    ).holds  # nothing says so without them


def test_a_column_that_refuses_what_is_missing_does_so_beside_the_policy():
    with refused(TableError, "'town'"):
        aggopt.mask(persons(), asked(attributes={"town": {"missing": "refuse"}}))


def test_no_warning_comes_of_holes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aggopt.mask(persons(40, 0.3), asked(3, aggregation={"method": "median"}))
