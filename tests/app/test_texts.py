"""The catalogues of the page: each language has the same texts, and all are used."""

import re
import tomllib
from pathlib import Path
from string import Formatter

import pytest

from aggopt.app.forms import ALONE, FIELDS, write_form_fields
from aggopt.app.texts import FIRST, LANGUAGES, Texts, read_catalogue
from aggopt.job import Job
from aggopt.job.roles import Roles

JOB = {
    "roles": {"quasi-identifier": ["age"], "confidential": ["illness"]},
    "privacy": {"k": 3, "l": 2, "repair": "merge"},
    "aggregation": {"method": "mean"},
}
STEPS = (  # of the tasks, as they report them
    "read",
    "check",
    "risk",
    "group",
    "repair",
    "bound",
    "aggregate",
    "categories",
    "points",
    "write",
)
PAGES = Path(__file__).parents[2] / "aggopt" / "app"


def fields(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_the_same_texts_and_values(language):
    first, other = (dict(read_catalogue(code)) for code in (FIRST, language))
    choices, others = first.pop("choices"), other.pop("choices")
    assert {kind: list(of) for kind, of in choices.items()} == {
        kind: list(of) for kind, of in others.items()
    }
    assert list(first) == list(other)
    for name, text in first.items():
        assert fields(other[name]) == fields(text), name


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translated_sentence_keeps_each_field_and_matches_itself(language):
    path = PAGES / "texts" / "sentences" / f"{language}.toml"
    for sentence, translation in tomllib.loads(path.read_text("utf-8")).items():
        assert fields(translation) <= fields(sentence), sentence
        lost = fields(sentence) - fields(translation)
        assert lost <= {"section", "policy", "kind", "role"}, sentence  # of a job file
        values = {f: "7" if len(f) == 1 else "<b>" for f in fields(sentence)}
        values |= dict.fromkeys(filter(str.isupper, values), "no")
        told = Texts(language).tell(sentence.format(**values))
        assert "<b>" not in told
        assert "lang=" not in told


def test_a_sentence_that_is_not_known_is_marked_and_escaped():
    assert Texts("de").translate("text, 3 different") == "Text, 3 verschiedene"
    assert Texts("de").translate("text, 1,234 different") == "Text, 1.234 verschiedene"
    known = "If somebody knew 'a', 'b' and 'c', 1,234 of 5,000 records would be unique."
    assert Texts("de").translate(known).startswith("Wenn jemand 'a', 'b' und 'c'")
    assert Texts("de").translate("so it is, 3 different") is None
    assert Texts("de").tell("So <it> is.") == '<span lang="en">So &lt;it&gt; is.</span>'
    assert Texts(FIRST).tell("so it is.", begins=True) == "So it is."


def test_each_text_is_used_and_none_is_missing():
    sources = [*PAGES.glob("pages/*.html"), PAGES / "server.py"]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    named = {*re.findall(r"""\b(?:t|texts)\(['"]([^'"]+)['"][,)]""", text)}
    named |= {"table", "roles", "risk", "protect", "compare", "release", "quit"}
    named |= {"ended", "of records", "starting", "begins", "choices"} | {"separators"}
    catalogue = read_catalogue(FIRST)
    assert named == {*catalogue}
    kinds = {*re.findall(r"""(?:choices\(|choose\([^,]+, )['"]([^'"]+)['"]""", text)}
    choices = catalogue["choices"]
    assert {*choices} == kinds | {"step"}
    assert list(choices["step"]) == list(STEPS)
    assert {*choices["language"]} == {*LANGUAGES}


def test_a_job_takes_each_choice():
    choices = read_catalogue(FIRST)["choices"]
    assert list(choices["role"]) == [
        field.alias or name for name, field in Roles.model_fields.items()
    ]
    for (section, key), holds in FIELDS.items():
        for value in filter(None, choices[key]) if holds == "choice" else ():
            assert Job(**JOB | {section: JOB.get(section, {}) | {key: value}})
    settings = '[partition]\nattributes = "together"\ntime_limit = 9\nbound = "none"\n'
    for method in choices["method"]:
        chosen = tomllib.loads(write_form_fields(settings, {"method": method}))
        privacy = {"k": 3, **chosen.pop("privacy", {})}
        assert Job(**JOB | chosen | {"privacy": privacy})
        assert ("scope" in privacy) == (method == ALONE)


def test_the_script_is_small_and_reaches_nothing_else():
    script = (PAGES / "static" / "app.js").read_text("utf-8")
    assert len(script) <= 20_000
    assert "//" not in re.sub(r"^ *//.*$", "", script, flags=re.MULTILINE)
    for word in ("innerHTML", "eval", "localStorage", "sessionStorage", "import("):
        assert word not in script
