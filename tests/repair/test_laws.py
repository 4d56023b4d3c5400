"""Every repair obeys the laws of `aggopt.checks`, and can be asked of a job."""

import pytest
from tables import promising, salaried

import aggopt
from aggopt.checks import parametrize_with_checks
from aggopt.errors import JobError
from aggopt.repair.registry import ALL_MODELS, REPAIRS


def paid():
    frame = salaried(40)
    return frame.assign(salary=frame["salary"] // 4000 * 4000)


@parametrize_with_checks(*REPAIRS.values())
def test_laws(check):
    check()


@pytest.mark.parametrize("name", REPAIRS)
def test_a_repair_says_of_itself_what_others_derive(name):
    repair = REPAIRS[name]
    assert repair.when
    assert repair.certificate
    assert repair.adds <= ALL_MODELS - {"k"}
    assert "k" in repair.leaves <= ALL_MODELS


@pytest.mark.parametrize("name", REPAIRS)
def test_it_keeps_t_and_proves_what_it_says(name):
    how = {"t": 0.25, "repair": name}
    if "t" not in REPAIRS[name].adds:
        return
    release = aggopt.mask(paid(), promising(**how))
    assert release.audit.holds
    assert release.audit.promises[0].holds
    proof = release.manifest()["partition"][0]["certificate"]
    assert 0 <= proof["bound"] <= proof["objective"] * (1 + 1e-9)
    assert proof["violation"] == 0.0


@pytest.mark.parametrize("name", REPAIRS)
def test_it_keeps_what_it_adds_and_is_refused_for_what_it_does_not(name):
    job = promising(l=3, repair=name)
    if "l" in REPAIRS[name].adds:
        assert aggopt.mask(paid(), job).audit.holds
    else:
        with pytest.raises(JobError, match=f"The repair '{name}' keeps"):
            aggopt.mask(paid(), job)


@pytest.mark.parametrize("name", REPAIRS)
def test_a_key_that_it_does_not_take_is_refused(name):
    taken = set(REPAIRS[name].settings.model_fields)
    for key, value in {"solver": "highs", "time_limit": 5.0}.items():
        how = {"method": name, key: value}
        if key in taken:
            assert promising(t=0.3, repair=how).privacy.repair.method == name
        else:
            with pytest.raises(JobError, match=f"{name} takes no {key}"):
                promising(t=0.3, repair=how)
