"""Means that keep the covariance, in the units of the records."""

import numpy as np
import pytest
from refusals import refused

from aggopt.aggregate import mean
from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError

rng = np.random.default_rng(5)
X = rng.gamma(2.0, size=(40, 3)) @ rng.normal(size=(3, 3)) * [1.0, 500.0, 1e-6] + 1e-3
LABELS = rng.permutation(np.arange(40) // 5)


def test_means_and_correlations_are_those_of_the_originals():
    masked = mean(X, LABELS, keep="covariance")
    values = masked.values
    assert values.mean(axis=0) == pytest.approx(X.mean(axis=0))
    assert np.corrcoef(values.T) == pytest.approx(np.corrcoef(X.T), abs=1e-9)
    assert values.std(axis=0) == pytest.approx(X.std(axis=0), rel=1e-8)


def test_one_certificate_says_what_all_attributes_lose():
    masked = mean(X, LABELS, keep="covariance")
    ((columns, proof),) = masked.name_certificates(["a", "b", "c"]).items()
    assert columns == ("a", "b", "c")
    lost = ((masked.values - X) / X.std(axis=0)) ** 2
    assert proof.objective == pytest.approx(lost.sum(), rel=1e-6)
    assert proof.status.value == "optimal"
    assert proof.solver == "procrustes"
    assert proof.gap < 1e-9
    assert proof.violation < 1e-12
    plain = sum(c.objective for c in mean(X, LABELS).certificates)
    apart = sum(c.objective for c in mean(X, LABELS, keep="variance").certificates)
    assert plain < apart < proof.objective
    assert "attribute 0, attribute 1, attribute 2" in masked._repr_html_()


def test_constant_attributes_are_left_out_and_kept():
    wide = np.insert(X, 1, 7.1, axis=1)
    masked = mean(wide, LABELS, keep="covariance")
    assert masked.together == ((0, 2, 3), (1,))
    assert (masked.values[:, 1] == 7.1).all()
    others = masked.values[:, [0, 2, 3]]
    assert others == pytest.approx(mean(X, LABELS, keep="covariance").values)
    assert masked.certificates[1].objective == 0
    alone = mean(np.full((4, 2), 7.1), [0, 0, 1, 1], keep="covariance")
    assert alone.together == ((0,), (1,))
    assert (alone.values == 7.1).all()


def test_one_attribute_is_renormalised():
    one, other = (mean(X[:, [1]], LABELS, keep=k) for k in ("covariance", "variance"))
    assert one.values == pytest.approx(other.values, rel=1e-13)
    pair = one.certificates[0].objective, other.certificates[0].objective
    assert pair[0] == pytest.approx(pair[1])


def test_groups_of_their_own_are_refused_unless_they_are_the_same():
    same = np.repeat(LABELS[:, None], 3, axis=1)
    masked = mean(X, same, keep="covariance")
    assert masked.values == pytest.approx(mean(X, LABELS, keep="covariance").values)
    same[:, 2] = same[::-1, 2]
    with refused(JobError):
        mean(X, same, keep="covariance")


def test_what_cannot_be_kept_is_refused():
    with refused(InfeasibleInputError):
        mean(X, np.arange(40) // 20, keep="covariance")
    with refused(UnknownNameError, "'covariance'"):
        mean(X, LABELS, keep="covarianc")
