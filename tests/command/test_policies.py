"""What `aggopt check` says of policies on missing values."""

import json

from holed import asked, persons
from typer.testing import CliRunner

import aggopt
from aggopt.command.cli import app


def notes(folder, frame, **sections):
    frame.to_csv(folder / "in.csv", index=False)
    job = asked(quasi=["age", "income"], **sections)
    (folder / "job.toml").write_text(job.to_toml())
    where = [str(folder / name) for name in ("in.csv", "job.toml")]
    found = CliRunner().invoke(app, ["check", *where, "--json"])
    stated = json.loads(found.stdout)
    return stated["ready"], [note for note in stated["notes"] if "policy" in note]


def test_the_policy_that_takes_the_table_is_named_with_what_it_costs(tmp_path):
    frame = persons(share=0.05)
    ready, said = notes(tmp_path, frame, missing={})
    holes = int(frame[["age", "income"]].isna().to_numpy().sum())
    assert not ready
    first, second = said
    assert first.startswith('policy = "patterns" under [missing] would take the table')
    lost = aggopt.mask(frame, asked(quasi=["age", "income"])).audit.missing.suppressed
    assert f"{holes} missing values would stay so, and {lost} others" in first
    assert second.startswith('policy = "fill" under [missing] would take the table')
    assert f"in place of {holes} missing values" in second


def test_nothing_is_said_where_a_policy_is_named_or_would_not_do(tmp_path):
    assert notes(tmp_path, persons()) == (True, [])
    assert notes(tmp_path, persons(share=0.0), missing={}) == (True, [])
    frame = persons()
    frame.loc[1:, "income"] = None
    assert notes(tmp_path, frame, missing={}) == (False, [])


def test_beside_other_obstacles_it_is_said_what_a_policy_takes(tmp_path):
    ready, said = notes(tmp_path, persons(share=0.05).assign(extra=1), missing={})
    assert not ready
    first, second = said
    takes = "under [missing] would take what is missing: "
    assert first.startswith(f'policy = "patterns" {takes}')
    assert first.endswith("would stay so, and others might be suppressed.")
    assert second.startswith(f'policy = "fill" {takes}in place of')


def test_a_policy_that_meets_an_obstacle_of_its_own_is_not_named(tmp_path):
    keeping = {"method": "mean", "keep": "covariance"}
    frame = persons(share=0.05)
    for extra in (frame, frame.assign(extra=1)):
        assert notes(tmp_path, extra, missing={}, aggregation=keeping) == (False, [])
