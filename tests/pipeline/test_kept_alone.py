"""What is kept together is asked of numbers, groups and strata, before any work."""

import numpy as np
import pytest
from asked import FRAME, NUMBERS, ONE, XY, job, table
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError
from aggopt.pipeline.validate.moments import require_covariance

VARIANCE = {"method": "mean", "keep": "variance"}


def test_a_covariance_is_asked_of_each_stratum_that_is_aggregated_by_itself() -> None:
    kept = {"aggregation": {"method": "mean", "keep": "covariance"}}
    within = {"roles": {"stratum": ["s"]}}
    fix = 'choose a smaller k, fewer quasi-identifiers, or keep = "variance".'
    X, both = FRAME[NUMBERS].to_numpy(), [[0, 1]]

    def ask(asked, strata=None, places=both, values=X):
        require_covariance(table(asked), values, places, asked, strata)

    ask(job(**kept))
    ask(job(k=7, aggregation=VARIANCE))
    ask(job(k=7, **kept), values=np.where(X == 1, np.nan, X))
    ask(job(k=3, **kept), values=X * [0, 1])
    ask(job(**kept, **within, strata={"keep": "overall"}), XY)
    ask(job(**kept, **within), ONE)
    says = "{} with k = {} make {} at most, and a covariance matrix of rank 2 is kept "
    says += "by 3 or more."
    with refused(says.format("7 records", 3, "2 groups"), fix, InfeasibleInputError):
        ask(job(k=3, **kept))
    one = says.format("3 records of one stratum", 2, "1 group")
    with refused(one, fix, InfeasibleInputError):
        ask(job(**kept, **within), XY)
    apart = 'keep = "covariance" is of attributes that are grouped together, and '
    apart += "[partition] attributes puts the numbers into 2 blocks."
    with pytest.raises(JobError) as no:
        ask(job(**kept), places=[[0], [1]])
    assert no.value.problem == apart


def test_a_table_of_what_is_kept_names_numbers_that_are_grouped_together() -> None:
    X = FRAME[["a", "b"]].to_numpy()

    def ask(keep, *, k=2, places=((0, 1),), strata=None, **more):
        roles = {"other": ["far"], "stratum": ["s"]}
        how = {"method": "mean", "keep": keep}
        asked = job(k=k, roles=roles, aggregation=how, **more)
        require_covariance(table(asked), X, places, asked, strata)

    both = {"covariance": ["b", "a"]}
    ask(both)
    ask({"covariance": ["a"], "variance": ["b"]}, k=3, places=((0,), (1,)))
    ask({"variance": ["a"], "mean": ["b"]}, k=7)
    with pytest.raises(UnknownNameError, match="quasi-identifier that is a number"):
        ask({"covariance": ["a", "c"]})
    with pytest.raises(JobError, match=r"^keep does not name 'b'"):
        ask({"covariance": ["a"]})
    with pytest.raises(JobError, match="'far' is the response of a regression and has"):
        ask({"regression": "far ~ a + b"})
    with pytest.raises(JobError, match=r'^keep = "covariance" is of .* into 2 blocks'):
        ask(both, places=((0,), (1,)))
    says = "7 records with k = 3 make 2 groups at most, and a covariance matrix of rank"
    with pytest.raises(InfeasibleInputError, match=f"^{says} 2 is kept by 3 or more"):
        ask(both, k=3)
    with pytest.raises(InfeasibleInputError, match=r"^3 records of one stratum with k"):
        ask(both, strata=XY)
