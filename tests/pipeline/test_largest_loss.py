"""How much a release may lose: a note above 80 %, a refusal if the job says so."""

import json

import numpy as np
import pandas as pd
from refusals import refused

import aggopt
from aggopt.errors import PrivacyError

NAMES = list("abcdefgh")
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 8)), columns=NAMES)


def job(k=25, **measures):
    sections = {"measures": measures} if measures else {}
    roles = {"quasi-identifier": NAMES}
    return aggopt.Job(roles=roles, privacy={"k": k}, **sections)


def test_a_large_loss_is_noted_with_advice():
    release = aggopt.mask(FRAME, job())
    assert release.measures.il > 0.8
    (note,) = [note for note in release.notes if "(IL)" in note]
    assert note.startswith(
        f"The release loses {100 * release.measures.il:.2f} % of the sum of squares"
    )
    assert "choose a smaller k" in note
    assert note in release.notes[: release.urgent]
    few = aggopt.mask(FRAME, job(k=3))
    assert few.measures.il < 0.8
    assert not [note for note in few.notes if "(IL)" in note]


def test_a_job_may_allow_less_or_more():
    with refused(PrivacyError, "largest_loss = 0.3", "30.00"):
        aggopt.mask(FRAME, job(k=5, largest_loss=0.3))
    release = aggopt.mask(FRAME, job(largest_loss=0.99))
    assert not [note for note in release.notes if "(IL)" in note]


def test_the_limit_is_written_with_the_job_and_with_other_measures(tmp_path):
    def spread(original, released):
        return float(np.ptp(released))

    asked = job(extra=[spread], largest_loss=0.9)
    assert list(asked.measures.own) == ["spread"]
    assert asked.measures.largest_loss == 0.9
    file = tmp_path / "job.toml"
    file.write_text(job(largest_loss=0.9).to_toml())
    assert aggopt.Job.read(file).measures.largest_loss == 0.9
    assert "[measures]" not in job().to_toml()


def test_a_written_release_that_lost_more_does_not_hold(tmp_path, monkeypatch, aggopt):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("people.csv", index=False)
    (tmp_path / "allowed.toml").write_text(job(k=5, largest_loss=0.9).to_toml())
    (tmp_path / "strict.toml").write_text(job(k=5, largest_loss=0.3).to_toml())
    words = ("people.csv", "allowed.toml", "--out", "masked.csv")
    assert aggopt("mask", *words)[0] == 0
    both = ("people.csv", "masked.csv")
    assert aggopt("assess", *both, "allowed.toml")[0] == 0
    code, out, _ = aggopt("assess", *both, "strict.toml")
    assert code == 1
    said = " ".join(out.split())
    assert "WARNING: The release loses" in said
    assert "largest_loss = 0.3 allows 30.00 %." in said
    code, out, _ = aggopt("assess", *both, "strict.toml", "--json")
    assert code == 1
    assert "allows 30.00 %" in json.loads(out)["largest_loss"]
    assert aggopt("risk", *both, "strict.toml")[0] == 1
