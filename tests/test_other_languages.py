"""The scripts of other languages on the pages: R where it is installed, shell lines."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from pages import blocks
from tables import smallest

KEYS = ["sex", "age", "income"]


def find_block(page: str, kind: str) -> str:
    return next(block.text for block in blocks(page) if block.kind == kind)


@pytest.mark.slow
def test_the_script_of_r_runs(tmp_path) -> None:
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("Rscript is not installed")
    (tmp_path / "mask.R").write_text(find_block("docs/from-r.md", "r"), "utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [program, "--vanilla", "mask.R"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert smallest(masked, [*KEYS, "education"]) >= 5
    assert set(masked["sex"]) <= {"female", "male"}


def test_the_shell_lines_of_stata_run(tmp_path, monkeypatch, aggopt) -> None:
    monkeypatch.chdir(tmp_path)
    script = find_block("docs/from-stata.md", "stata")
    Path("job.toml").write_text(find_block("docs/from-stata.md", "toml"), "utf-8")
    write_survey(script)
    lines = re.findall(r"^shell aggopt (.+)$", script, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["check", "mask"]
    for line in lines:
        code, out, err = aggopt(*shlex.split(line))
        assert code == 0, out + err
    masked, about = pyreadstat.read_dta("masked.dta", apply_value_formats=False)
    assert smallest(masked, KEYS) >= 5
    assert about.column_names_to_labels["income"] == "Income per month"
    assert set(about.variable_value_labels["sex"].values()) <= {"female", "male"}
    assert set(about.variable_value_labels["illness"].values()) == {
        *("none", "asthma", "flu")
    }


def write_survey(script: str) -> None:
    """Write the survey that the script makes, with its labels."""
    labels = {
        name: {int(code): text for code, text in re.findall(r'(\d+) "(\w+)"', texts)}
        for name, texts in re.findall(
            r"^label define (\w+) (.+)$", script, re.MULTILINE
        )
    }
    named = dict(re.findall(r"^label values (\w+) (\w+)$", script, re.MULTILINE))
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "person": np.arange(1.0, 61),
            "sex": rng.integers(1, 3, 60).astype(float),
            "age": rng.integers(18, 90, 60).astype(float),
            "income": rng.gamma(2, 900, 60).round(),
            "illness": (np.arange(60) % 3 + 1).astype(float),
        }
    )
    pyreadstat.write_dta(
        frame,
        "survey.dta",
        column_labels=dict(
            re.findall(r'^label variable (\w+) "(.+)"$', script, re.MULTILINE)
        ),
        variable_value_labels={name: labels[of] for name, of in named.items()},
    )
