"""The codebook of a release in DDI Codebook 2.5: content, order, and equal bytes."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import RepeatError, TableError
from aggopt.release.report.ddi import CHILDREN

SPACE = "{ddi:codebook:2_5}"
SEQUENCES = {  # elements of the schema, in its order, as far as ours are among them
    "codeBook": "docDscr stdyDscr fileDscr dataDscr otherMat",
    "docDscr": "citation guide docStatus docSrc controlledVocabUsed notes",
    "stdyDscr": (
        "citation studyAuthorization stdyInfo studyDevelopment method dataAccs "
        "othrStdyMat notes"
    ),
    "citation": (
        "titlStmt rspStmt prodStmt distStmt serStmt verStmt biblCit holdings notes"
    ),
    "titlStmt": "titl subTitl altTitl parTitl IDNo",
    "prodStmt": "producer copyright prodDate prodPlac software fundAg grantNo",
    "method": "dataColl notes anlyInfo stdyClas dataProcessing codingInstructions",
    "fileDscr": "fileTxt locMap notes",
    "fileTxt": (
        "fileName fileCitation fileCont fileStrc dimensns fileType format filePlac "
        "dataChck ProcStat dataMsng software verStmt"
    ),
    "dimensns": "caseQnty varQnty logRecL recPrCas recNumTot",
    "dataDscr": "varGrp nCubeGrp var nCube notes",
    "var": (
        "location labl imputation security embargo respUnit anlysUnit qstn valrng "
        "invalrng undocCod universe TotlResp sumStat txt stdCatgry catgryGrp catgry "
        "codInstr verStmt concept derivation varFormat geoMap catLevel notes"
    ),
    "invalrng": "item range key notes",
    "catgry": "catValu labl txt catStat mrow",
}
TEXTS = {
    "region": {1: "North", 2: "Middle", 3: "South", 4: "One island"},
    "age": {-9: "not asked"},
    "trust": {99: "refused"},
    "answer": {0: "no", 1: "yes", 9: "no answer"},
    "illness": {1: "flu", 2: "cold", 3: "none", 4: "rare disease"},
}


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """An SPSS file with labels, missing codes, and an illness of one record."""
    path = tmp_path_factory.mktemp("ddi") / "survey.sav"
    rng = np.random.default_rng(7)
    n = np.arange(60)
    frame = pd.DataFrame(
        {
            "person": n + 0.0,
            "age": np.where(n % 20 == 0, -9.0, rng.integers(18, 90, 60)),
            "region": rng.integers(1, 4, 60).astype(float),
            "trust": np.where(n % 7 == 0, 99.0, rng.integers(0, 11, 60)),
            "illness": np.where(n == 0, 4.0, rng.integers(1, 4, 60)),
            "answer": np.where(n % 6 == 0, 9.0, n % 2),
            "weight": rng.uniform(50, 150, 60),
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        file_label="wave 3, internal",
        column_labels={"age": "Age <in>\x0byears & more"},
        variable_value_labels=TEXTS,
        missing_ranges={
            "age": [-9],
            "trust": [{"lo": 98, "hi": 99}],
            "answer": [{"lo": 9, "hi": 9}],
        },
    )
    return path


@pytest.fixture(scope="module")
def release(survey):
    return aggopt.mask(
        survey,
        aggopt.Job(
            roles={
                "identifier": ["person"],
                "quasi-identifier": ["age", "region"],
                "confidential": ["illness"],
                "other": ["trust", "answer"],
                "weight": ["weight"],
            },
            privacy={"k": 5},
            partition={"method": "mdav"},
            missing={"policy": "fill"},
            output={"title": "Survey 2026", "office": "Office of Statistics"},
        ),
    )


def find_all(path: Path, tags: str) -> list[ElementTree.Element]:
    steps = "/".join(f"{SPACE}{tag}" for tag in tags.split("/"))
    return ElementTree.parse(path).findall(f".//{steps}")


def find_variables(path: Path) -> dict[str, ElementTree.Element]:
    return {variable.get("name"): variable for variable in find_all(path, "var")}


def list_texts(variable: ElementTree.Element, tags: str) -> list[str | None]:
    steps = "/".join(f"{SPACE}{tag}" for tag in tags.split("/"))
    return [element.text for element in variable.findall(steps)]


@pytest.mark.parametrize("tag", CHILDREN)
def test_the_order_is_that_of_the_schema(tag) -> None:
    sequence = SEQUENCES[tag].split()
    assert list(CHILDREN[tag]) == [
        child for child in sequence if child in CHILDREN[tag]
    ]


def test_the_elements_of_a_file_have_this_order(tmp_path, release) -> None:
    files = release.write(tmp_path / "masked.sav", ddi=True)
    for element in ElementTree.parse(files.ddi).iter():
        children = [child.tag.removeprefix(SPACE) for child in element]
        sequence = SEQUENCES.get(element.tag.removeprefix(SPACE), "").split()
        assert children == sorted(children, key=sequence.index)


@pytest.mark.parametrize("ending", [".sav", ".csv", ".parquet"])
def test_it_is_valid_by_the_schema(tmp_path, release, ending) -> None:
    schema, program = os.environ.get("AGGOPT_DDI_SCHEMA"), shutil.which("xmllint")
    if schema is None or program is None:
        pytest.skip("AGGOPT_DDI_SCHEMA names no codebook.xsd, or xmllint is missing")
    files = release.write(tmp_path / f"masked{ending}", ddi=True)
    words = [program, "--noout", "--nonet", "--schema", schema, str(files.ddi)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_it_describes_the_file(tmp_path, release) -> None:
    files = release.write(tmp_path / "masked.sav", ddi=True)
    assert files.ddi == tmp_path / "masked.ddi.xml"
    assert files.ddi.stat().st_mode == files.table.stat().st_mode
    stated = json.loads(files.manifest.read_text())["output"]
    (note,) = find_all(files.ddi, "fileDscr/notes")
    assert note.text == stated["sha256"]
    assert stated["ddi"]["file"] == "masked.ddi.xml"
    titles = [element.text for element in find_all(files.ddi, "titl")]
    assert titles == ["Codebook: Survey 2026", "Survey 2026"]
    variables = find_variables(files.ddi)
    assert list(variables) == [
        *("age", "region", "trust", "illness", "answer", "weight")
    ]
    label = "Age <in>\N{REPLACEMENT CHARACTER}years & more"
    assert list_texts(variables["age"], "labl") == [label]
    assert list_texts(variables["region"], "catgry/catValu") == ["1", "2", "3"]
    assert list_texts(variables["region"], "catgry/labl") == [
        "North",
        "Middle",
        "South",
    ]
    assert variables["weight"].get("wgt") == "wgt"
    trust = variables["trust"]
    assert [item.get("VALUE") for item in trust.findall(f".//{SPACE}item")] == ["99"]
    assert [c.get("missing") for c in trust.findall(f"{SPACE}catgry")] == ["Y"]
    answer = variables["answer"]
    assert list_texts(answer, "catgry/labl") == ["no", "yes", "no answer"]
    assert [c.get("missing") for c in answer.findall(f"{SPACE}catgry")] == [
        *(None, None, "Y")
    ]
    assert answer.find(f"{SPACE}varFormat").get("type") == "numeric"
    (processing,) = find_all(files.ddi, "dataProcessing")
    assert "groups of at least 5 records" in processing.text
    assert "Published unchanged: illness, trust, answer." in processing.text


@pytest.mark.parametrize("ending", [".sav", ".csv"])
def test_it_has_no_value_of_fewer_than_k_records(tmp_path, release, ending) -> None:
    files = release.write(tmp_path / f"masked{ending}", ddi=True)
    text = files.ddi.read_text("utf-8")
    for secret in ("person", "rare disease", "One island", "not asked", "wave 3"):
        assert secret not in text
    masked = release.table.to_pandas().astype(str)
    for name, variable in find_variables(files.ddi).items():
        tags = "catgry/labl" if ending == ".sav" else "catgry/catValu"
        for label in list_texts(variable, tags):
            if label not in ("refused", "no answer"):
                assert (masked[name] == label).sum() >= 5
        assert not variable.findall(f"{SPACE}sumStat")
        assert not variable.findall(f"{SPACE}valrng")


def test_a_file_without_codes_is_described_by_its_texts(tmp_path, release) -> None:
    files = release.write(tmp_path / "masked.csv", ddi=True)
    variables = find_variables(files.ddi)
    assert list_texts(variables["answer"], "catgry/catValu") == ["no", "yes"]
    assert list_texts(variables["answer"], "txt") == ["An empty entry is missing."]
    assert list_texts(variables["trust"], "txt") == ["An empty entry is missing."]
    assert not variables["trust"].findall(f"{SPACE}catgry")
    assert variables["answer"].find(f"{SPACE}varFormat").get("type") == "character"
    written = pd.read_csv(files.table)
    assert set(written["answer"].dropna()) == {"no", "yes"}
    assert written["trust"].isna().any()


def test_a_repeated_release_has_the_same_codebook(tmp_path, release, survey) -> None:
    first = release.write(tmp_path / "masked.sav", ddi=True)
    again = aggopt.repeat(first.manifest, survey, tmp_path / "again.sav")
    assert again.ddi.read_bytes() == first.ddi.read_bytes()
    aggopt.repeat(first.manifest, survey, again.table, overwrite=True)
    assert again.ddi.read_bytes() == first.ddi.read_bytes()
    stated = json.loads(first.manifest.read_text())
    stated["output"]["ddi"]["sha256"] = "0" * 64
    first.manifest.write_text(json.dumps(stated))
    with refused(RepeatError, "DDI codebook"):
        aggopt.repeat(first.manifest, survey, tmp_path / "third.sav")
    assert not list(tmp_path.glob("third*"))


def test_a_codebook_of_another_table_is_not_left_behind(tmp_path) -> None:
    release = aggopt.mask(people(), job())
    release.write(tmp_path / "masked.csv", ddi=True)
    with refused(TableError, "masked.ddi.xml"):
        release.write(tmp_path / "masked.csv", overwrite=True)
    files = release.write(tmp_path / "masked.csv", overwrite=True, ddi=True)
    variables = find_variables(files.ddi)
    assert list_texts(variables["age"], "varFormat") == [None]
    assert variables["age"].get("intrvl") == "contin"


def test_moments_are_called_those_of_the_originals_only_if_they_are(tmp_path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.gamma(2.0, 90.0, (60, 2)), columns=["income", "debt"])
    frame["region"] = ["north"] * 57 + ["isle"] * 3
    of_job = {
        "roles": {"quasi-identifier": ["income", "debt"], "stratum": ["region"]},
        "attributes": {"income": {"top": 150.0}},
        "privacy": {"k": 5},
        "strata": {"small": "drop"},
        "partition": {"method": "mdav"},
    }
    files = aggopt.mask(frame, aggopt.Job(**of_job)).write(tmp_path / "m.csv", ddi=True)
    advice = " ".join(element.text for element in find_all(files.ddi, "method/notes"))
    assert "originals of these records, but for rounding: the mean of debt." in advice
    assert "recoded values, but for rounding: the mean of income." in advice
    released, these = pd.read_csv(files.table).mean(numeric_only=True), frame[:57]
    assert released["debt"] == pytest.approx(these["debt"].mean(), rel=1e-4)
    recoded = these["income"].clip(upper=150.0).mean()
    assert released["income"] == pytest.approx(recoded, rel=1e-4)


def test_weights_that_are_not_published_are_named_with_weighted_means(tmp_path) -> None:
    frame = people().assign(w=np.arange(1.0, 41.0))
    for published, is_stated in (("drop", True), ("group mean", False)):
        weighted = job(
            roles={"quasi-identifier": ["age", "income"], "weight": "w"},
            weights={"published": published},
        )
        path = tmp_path / f"{published}.csv"
        files = aggopt.mask(frame[["age", "income", "w"]], weighted).write(
            path, ddi=True
        )
        text = files.ddi.read_text("utf-8")
        assert "the weighted mean of age, income" in text
        assert ("The sampling weights are not published." in text) == is_stated
