"""Commands on files of SPSS, Stata, SAS and Excel."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from tables import ROLES_AND_K, people, smallest

from aggopt.data.formats import registry as formats

WRITERS = {
    ".sav": pyreadstat.write_sav,
    ".dta": pyreadstat.write_dta,
    ".xpt": pyreadstat.write_xport,
    ".xlsx": lambda frame, path: frame.to_excel(path, index=False),
}
READERS = {
    ".sav": pd.read_spss,
    ".dta": pd.read_stata,
    ".xpt": lambda path: pyreadstat.read_xport(path)[0],
    ".xlsx": pd.read_excel,
}
JOB = f"""{ROLES_AND_K}[partition]
method = "mdav"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("ending", WRITERS)
def test_a_table_goes_through_all_commands(here, aggopt, ending):
    WRITERS[ending](people(), f"people{ending}")
    code, out, _ = aggopt("init", f"people{ending}", "--out", "new.toml")
    assert code == 0
    for said in (out, Path("new.toml").read_text()):
        assert f"--out masked{ending}" in said
    roles = tomllib.loads(Path("new.toml").read_text())["roles"]
    assert roles["identifier"] == ["name"]
    assert "age" in roles["quasi-identifier"]
    Path("job.toml").write_text(JOB)
    code, out, _ = aggopt("check", f"people{ending}", "job.toml")
    assert code == 0
    assert "whole numbers" in out
    out = f"masked{ending}"
    assert aggopt("mask", f"people{ending}", "job.toml", "--out", out)[0] == 0
    assert smallest(READERS[ending](out)) >= 4
    assert aggopt("assess", f"people{ending}", out, "job.toml")[0] == 0
    Path("plain").touch()
    assert Path(out).stat().st_mode == Path("plain").stat().st_mode


def test_types_that_a_file_does_not_have_are_refused_before_work(
    here, aggopt, monkeypatch
):
    zoned = pd.date_range("2020-01-01", periods=40, tz="UTC")
    people().assign(note=zoned).to_parquet("people.parquet")
    Path("job.toml").write_text(JOB)
    monkeypatch.setattr("aggopt.pipeline.mask.partition_table", None)
    code, _, err = aggopt("mask", "people.parquet", "job.toml", "--out", "masked.sav")
    assert code == 2
    assert "types that a .sav file does not have: 'note' (timestamp" in err
    assert not Path("masked.sav").exists()


def test_codes_that_only_partly_have_a_text_are_to_be_decided(here, aggopt):
    frame = people().assign(age=[98, 99, 99, *range(18, 55)])
    texts = {"age": {98: "refused", 99: "unknown"}}
    pyreadstat.write_sav(frame, "people.sav", variable_value_labels=texts)
    Path("job.toml").write_text(JOB)
    code, out, _ = aggopt("check", "people.sav", "job.toml")
    assert code == 2
    assert "'age': 3 with a text, 37 without" in out
    aggopt("init", "people.sav", "--out", "new.toml")
    text = Path("new.toml").read_text()
    assert "# DECIDE on 1 column" in text
    assert 'kind = "numeric"' in text
    Path("job.toml").write_text(f'{JOB}[attributes.age]\nkind = "numeric"\n')
    assert aggopt("check", "people.sav", "job.toml")[0] == 0


def test_missing_codes_are_counted(here, aggopt):
    frame = people().assign(income=np.where(np.arange(40) < 7, -9.0, 1000.0))
    pyreadstat.write_sav(frame, "people.sav", missing_ranges={"income": [-9]})
    Path("job.toml").write_text(JOB)
    code, out, _ = aggopt("check", "people.sav", "job.toml")
    assert code == 2
    assert "'income': 7 missing" in out


def test_names_that_the_file_does_not_allow_are_refused_before_the_table_is_read(
    here, aggopt
):
    Path("job.toml").write_text(JOB.replace('"income"', '"yearly income"'))
    Path("people.csv").unlink()
    code, _, err = aggopt("mask", "people.csv", "job.toml", "--out", "masked.dta")
    assert code == 2
    assert "does not allow: 'yearly income'" in err


def test_without_its_package_a_file_is_refused(here, aggopt, monkeypatch):
    WRITERS[".sav"](people(), "people.sav")
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    Path("job.toml").write_text(JOB)
    for words in (
        ("mask", "people.sav", "job.toml", "--out", "masked.csv"),
        ("mask", "people.csv", "job.toml", "--out", "masked.sav"),
        ("init", "people.sav", "--out", "new.toml"),
    ):
        code, _, err = aggopt(*words)
        assert code == 2
        assert "pip install 'aggopt[stats]'" in err


def test_a_table_is_no_job(here, aggopt):
    WRITERS[".sav"](people(), "people.sav")
    code, _, err = aggopt("check", "job.toml", "people.sav")
    assert code == 2
    assert "people.sav is a table by its name" in err
