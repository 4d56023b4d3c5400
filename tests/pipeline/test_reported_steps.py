"""How a report reads a release of which the originals are not at hand."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
from tables import job

from aggopt.pipeline.review import report_data as reported
from aggopt.pipeline.review.report_data import _read, types_of_release


def test_a_release_alone_is_read_with_the_types_of_its_job(monkeypatch) -> None:
    heard = []
    asked = job(attributes={"age": {"lower": 0}})
    monkeypatch.setattr(reported, "read_file", lambda *_: pa.table({"age": [1.0]}))
    table = SimpleNamespace(of=lambda *of, **more: heard.append((of, more)))
    monkeypatch.setattr(reported, "Table", table)
    _read(SimpleNamespace(table=Path("masked.csv")), asked, None)
    (((_, roles, types), more),) = heard
    assert (roles, types) == (asked.released_roles, types_of_release(asked))
    assert more == {"missing": asked.missing}
    assert types["age"].lower == 0
