"""How much a release may lose: a note above 80 %, a refusal if the job says so."""

import numpy as np
import pandas as pd
import pytest

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
    with pytest.raises(
        PrivacyError, match=r"largest_loss = 0\.3 allows 30\.00 %"
    ) as no:
        aggopt.mask(FRAME, job(k=5, largest_loss=0.3))
    assert "nothing was written; group fewer attributes together" in no.value.fix
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
