"""How a report reads a release of which the originals are not at hand."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
from tables import job

from aggopt.pipeline import reported
from aggopt.pipeline.reported import _read, released_types


def test_a_release_alone_is_read_with_the_types_of_its_job(monkeypatch) -> None:
    heard = []
    asked = job(attributes={"age": {"lower": 0}})
    monkeypatch.setattr(reported, "read", lambda *_: pa.table({"age": [1.0]}))
    table = SimpleNamespace(of=lambda *of, **more: heard.append((of, more)))
    monkeypatch.setattr(reported, "Table", table)
    _read(SimpleNamespace(table=Path("masked.csv")), asked, None)
    (((_, roles, types), more),) = heard
    assert (roles, types) == (asked.released_roles, released_types(asked))
    assert more == {"missing": asked.missing}
    assert types["age"].lower == 0
