"""A partition method of the user's in a job: trusted, counted, certified, repeated."""

import json
import pickle
from inspect import getsource

import numpy as np
import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt import Job
from aggopt.core.plugins.loading import sha256, trust_files
from aggopt.errors import (
    JobError,
    PrivacyError,
    RepeatError,
    UnknownNameError,
    UntrustedCodeError,
)
from aggopt.experiments.compare_solvers import compare
from aggopt.experiments.sweep import sweep
from aggopt.job.user_code import rename_user_code
from aggopt.partition import Partition
from aggopt.pipeline.review.trusted_code import attach_trusted_code
from aggopt.release import manifest as manifest_module
from aggopt.solvers import Certificate, Claim, Status

FILE = """
[roles]
identifier = ["name"]
quasi-identifier = ["age", "income"]
confidential = ["illness"]
other = ["note"]
[privacy]
k = 3
[partition]
method = "lib/mine.py:split"
reverse = true
"""


def split(X, k, *, reverse=False):
    rank = np.argsort(np.argsort(-X[:, 0] if reverse else X[:, 0]))
    return np.minimum(rank // k, len(X) // k - 1)


SPLIT = f"import numpy as np\n{getsource(split)}"


@pytest.fixture
def file(tmp_path):
    """The path of a job that names a file of code in a folder beside it."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "mine.py").write_text(SPLIT)
    path = tmp_path / "job.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def code(file):
    return file.parent / "lib" / "mine.py"


def own(function, **settings):
    return job(partition={"method": function, **settings})


def test_a_job_is_masked_by_a_trusted_file(file, code, tmp_path) -> None:
    release = aggopt.mask(people(), file, trust=[code])
    (block,) = release.blocks
    x = people()[["age", "income"]].to_numpy(float)
    assert np.array_equal(block.labels, split(x, 3, reverse=True))
    assert block.certificate.solver == "mine.py:split"
    assert 0 < block.certificate.bound < block.certificate.objective
    digest = sha256(code.read_bytes()).hexdigest()
    stated = release.manifest()
    assert stated["code"] == [
        {
            "name": "mine.py:split",
            "kind": "partitioners",
            "where": "file",
            "file": "mine.py",
            "sha256": digest,
            "package": None,
        }
    ]
    named = {"attributes": "together", "weights": "variance", "bound": "quick"}
    named |= {"reverse": True}
    assert stated["job"]["partition"] == {"method": "mine.py:split", **named}
    assert str(tmp_path) not in json.dumps(stated)


def test_without_trust_not_one_byte_is_run(file, code, tmp_path) -> None:
    code.write_text(f"import os\nos.mkdir({str(tmp_path / 'ran')!r})\n{SPLIT}")
    with refused(UntrustedCodeError, "[partition]", "mine.py") as no:
        aggopt.mask(people(), file)
    assert f"--trust {code}" in no.value.fix
    read = Job.read(file)  # a job is data
    assert read.partition.method == f"{code}:split"
    assert read.code == ()
    for trust in ([], [file]):
        with pytest.raises(UntrustedCodeError):
            aggopt.mask(people(), read, trust=trust)
    assert not (tmp_path / "ran").exists()
    aggopt.mask(people(), read, trust=[code])
    assert (tmp_path / "ran").exists()


def test_an_object_is_taken_where_names_are() -> None:
    found = aggopt.mask(people(), own(split, reverse=True))
    assert found.blocks[0].certificate.solver == "split"
    assert found.manifest()["code"][0]["where"] == "object"
    assert found.manifest()["code"][0]["sha256"] is None
    assert own(aggopt.partition.mdav) == job()
    assert aggopt.mask(people(), job()).manifest()["code"] == []


def test_a_path_without_a_job_file_is_whole(code) -> None:
    asked = own("mine.py:split")
    with refused(JobError, "there is none"):
        aggopt.mask(people(), asked, trust=[code])
    assert aggopt.mask(people(), own(f"{code}:split"), trust=[code]).audit.holds


@pytest.mark.parametrize(
    "settings",
    [
        {"revers": True},
        {"weigths": "range"},
        {"reverse": 1},
        {"weights": "none"},
        {"attributes": 3},
        {"reverse": {1, 2}},
    ],
)
def test_settings_are_those_of_the_function(settings) -> None:
    with refused(JobError):
        own(split, **settings)


def test_settings_of_a_file_are_checked_before_any_work(file, code) -> None:
    file.write_text(FILE.replace("reverse", "revrse"))
    steps = []
    with refused(UnknownNameError, "'revrse'", "'reverse'"):
        aggopt.mask(people(), file, trust=[code], progress=lambda *s: steps.append(s))
    assert steps == []


def of_two(X, k):
    return np.arange(len(X)) // 2


def too_few(X, k):
    return np.zeros(len(X) - 1, int)


def of_text(X, k):
    return ["4711"] * len(X)


def none(X, k):
    return None


def fails(X, k):
    raise ValueError(f"the first record is {X[0]}")


@pytest.mark.parametrize(
    ("function", "kind", "said"),
    [
        (of_two, PrivacyError, "of_two made a group of 2, but k = 3 is required"),
        (too_few, JobError, "too_few returns no partition: labels have shape (39,)"),
        (of_text, JobError, "of_text returns no partition: "),
        (none, JobError, "none returns no partition: "),
        (fails, JobError, "fails fails with a ValueError in line "),
    ],
)
def test_what_it_returns_is_counted_before_anything_else(function, kind, said) -> None:
    with refused(kind, said) as error:
        aggopt.mask(people(), own(function))
    assert type(error.value) is kind
    assert "4711" not in str(error.value)
    assert str(people()["age"][0]) not in str(error.value).replace(said, "")


def spoils(X, k):
    found = split(X, k)
    X[:] = 0.0
    return found


def test_it_gets_a_copy_of_the_records() -> None:
    found = aggopt.mask(people(), own(spoils))
    assert found.audit.holds
    means = people().groupby(found.blocks[0].labels)["age"].transform("mean")
    assert np.allclose(found.table["age"], means, rtol=1e-3)


def lies(X, k):
    best = Certificate(Status.OPTIMAL, 1.0, 1.0, 0.0, "mine", 0.0)
    return Partition(split(X, k), best)


def test_its_bound_is_claimed_and_not_proven() -> None:
    found = aggopt.mask(people(), own(lies))
    plain = aggopt.mask(people(), own(split)).blocks[0].certificate
    certificate = found.blocks[0].certificate
    assert (certificate.objective, certificate.bound) == (plain.objective, plain.bound)
    assert certificate.status is Status.HEURISTIC
    assert certificate.claimed == Claim(1.0, "object lies")
    assert plain.claimed is None
    (note,) = [note for note in found.notes if "claimed" in note]
    assert note == (
        "'groups of age, income': the bound 1 claimed by object lies, and is not "
        "proven."
    )


def test_a_release_is_repeated_with_the_file_that_made_it(file, code, tmp_path) -> None:
    files = aggopt.mask(people(), file, trust=[code]).write(tmp_path / "masked.csv")
    there = tmp_path / "there"
    there.mkdir()
    moved = code.rename(there / "mine.py")
    again = aggopt.repeat(
        files.manifest, people(), tmp_path / "again.csv", trust=[moved]
    )
    assert again.table.read_bytes() == files.table.read_bytes()
    with refused(UntrustedCodeError, "mine.py") as error:
        aggopt.repeat(files.manifest, people(), tmp_path / "no.csv")
    digest = sha256(moved.read_bytes()).hexdigest()
    assert error.value.fix == (
        "read it; if you trust it, pass --trust with its path, or trust=[...] in "
        f"Python; its SHA-256 is {digest}."
    )
    moved.write_text(SPLIT + "\n")
    with refused(RepeatError, "mine.py", "SHA", "256") as differs:
        aggopt.repeat(files.manifest, people(), tmp_path / "no.csv", trust=[moved])
    assert differs.value.fix == f"bring the very file, of SHA-256 {digest}."
    assert not (tmp_path / "no.csv").exists()


def test_a_release_of_an_object_is_not_repeated(tmp_path) -> None:
    release = aggopt.mask(people(), own(split))
    files = release.write(tmp_path / "masked.csv")
    with refused(RepeatError):
        aggopt.repeat(files.manifest, people(), tmp_path / "again.csv")


def test_two_files_of_one_name_are_told_apart_by_what_they_do(tmp_path) -> None:
    gap = "def f(original, released):\n    return abs(original - released).max()\n"
    paths = []
    for folder, text in (("x", SPLIT.replace("def split", "def f")), ("y", gap)):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "same.py")
        paths[-1].write_text(text)
    two = job(
        partition={"method": f"{paths[0]}:f"}, measures={"extra": [f"{paths[1]}:f"]}
    )
    files = aggopt.mask(people(), two, trust=paths).write(tmp_path / "masked.csv")
    again = aggopt.repeat(files.manifest, people(), tmp_path / "again.csv", trust=paths)
    assert again.table.read_bytes() == files.table.read_bytes()


def test_two_files_of_one_name_and_kind_are_refused_before_work(tmp_path) -> None:
    paths = []
    for folder in ("x", "y", "z"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "mine.py")
    paths[0].write_text("def f(model, data):\n    return data.renormalised\n")
    paths[1].write_text("def f(model, data):\n    return None\n")
    paths[2].write_text(paths[0].read_text())

    def by(one, other):
        return job(
            partition={"method": "individual_ranking", "solver": f"{one}:f"},
            aggregation={"method": "p3m", "solver": f"{other}:f"},
        )

    with refused(JobError):
        aggopt.mask(None, by(*paths[:2]), trust=paths)
    with trust_files(paths):
        same = by(paths[0], paths[2]).load_code()
    assert len(same.code) == 2


@pytest.mark.parametrize(
    ("kind", "sections"),
    [
        ("partitioners", {"partition": {"method": "a"}}),
        ("partitioners", {"partition": {"method": "z", "initial": "a"}}),
        ("partitioners", {"partition": {"inner": {"method": "a"}}}),
        ("aggregators", {"aggregation": {"method": "a"}}),
        ("models", {"aggregation": {"model": "a"}}),
        ("solvers", {"aggregation": {"categories": {"solver": "a"}}}),
        ("repairs", {"privacy": {"repair": "a"}}),
        ("repairs", {"privacy": {"repair": {"method": "a"}}}),
        ("measures", {"measures": {"extra": ["a"]}}),
        ("", {"other": {"method": "a"}}),
    ],
)
def test_code_is_named_by_its_kind_where_it_stands(kind, sections) -> None:
    seen = []
    rename_user_code(sections, lambda *of: seen.append(of) or "b")
    assert (kind, "a") in seen


STATED = {"name": "a.py:f", "where": "file", "file": "a.py", "sha256": "0"}
STATED |= {"kind": "solvers"}


@pytest.mark.parametrize(
    "entry",
    [
        "a.py",
        {},
        {"name": "a.py:f"},
        {"where": "file"},
        *({**STATED, key: None} for key in STATED),
        {**STATED, "file": "b.py"},
    ],
)
def test_edited_code_of_a_manifest_is_refused(entry) -> None:
    for stated in ([entry], entry or 3):
        with refused(JobError):
            attach_trusted_code({}, stated)


def test_a_manifest_without_code_has_the_job_as_it_is() -> None:
    stated = {"partition": {"method": "x"}}
    point = {"name": "x", "where": "entry point"}
    for code in (None, [], [point]):
        assert attach_trusted_code(stated, code) == stated


def test_the_version_of_a_plugin_stands_in_the_manifest(monkeypatch) -> None:
    release = aggopt.mask(people(), own(split))
    (origin,) = release.job.code
    assert "object" not in release.manifest()["versions"]
    plugin = type(origin)("x", "partitioners", "entry point", package="numpy 1.0")
    found = manifest_module._list_versions(set(), [plugin])
    assert found["numpy"] == np.__version__
    other = type(origin)("x", "partitioners", "entry point", package="my extras 1.0")
    assert "my extras" in manifest_module._list_versions(set(), [other])


def test_a_job_in_which_code_is_named_is_equal_to_its_copy(file, code) -> None:
    with pytest.raises(UntrustedCodeError):
        Job.read(file).load_contents()
    release = aggopt.mask(people(), file, trust=[code])
    copy = pickle.loads(pickle.dumps(release.job))
    assert copy == release.job
    assert hash(copy) == hash(release.job)
    assert Job.read(file) == Job.read(file)
    assert Job(**Job.read(file).model_dump()) == Job.read(file)


P3M = {"method": "p3m", "solver": "lagrangian"}


def test_a_sweep_and_a_comparison_take_it(file, code) -> None:
    file.write_text(FILE + '[aggregation]\nmethod = "p3m"\nsolver = "lagrangian"\n')
    grid = {"alpha": [0.5], "delta": [0.1]}
    (point,) = sweep(people(), file, **grid, jobs=1, trust=[code])
    assert point.holds
    (row,) = compare(people(), file, ["lagrangian"], trust=[code])
    assert row.holds
    with pytest.raises(UntrustedCodeError):
        next(sweep(people(), file, **grid))
    with pytest.raises(UntrustedCodeError):
        next(compare(people(), file))


def test_it_groups_blocks_and_coordinates_of_any_types() -> None:
    roles = {"quasi-identifier": ["age", "income"], "confidential": ["illness"]}
    one = Job(
        roles=roles,
        privacy={"k": 3, "scope": "blocks"},
        partition={"method": split, "attributes": "one by one"},
    )
    assert len(aggopt.mask(people()[["age", "income", "illness"]], one).blocks) == 2
    names = Job(
        roles={**ROLES, "quasi-identifier": ["age", "illness"], "confidential": []}
        | {"other": ["note", "income"]},
        privacy={"k": 3},
        partition={"method": split},
    )
    assert aggopt.mask(people(), names).audit.holds


def test_what_it_does_not_keep_is_repaired() -> None:
    with refused(JobError):
        aggopt.mask(
            people(), job(privacy={"k": 3, "l": 2}, partition={"method": split})
        )
    privacy = {"k": 3, "l": 2, "repair": "merge"}
    found = aggopt.mask(people(), job(privacy=privacy, partition={"method": split}))
    assert found.audit.holds
