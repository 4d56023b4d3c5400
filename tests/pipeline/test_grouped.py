"""A table and its groups, as an aggregation starts from them."""

from types import SimpleNamespace

import numpy as np
import pytest

from aggopt.pipeline.partition.partitioned_table import PartitionedTable


def test_the_scale_is_by_weight() -> None:
    table = SimpleNamespace(domains={})
    x, w = np.array([[0.0], [1.0]]), np.array([0.5, 1.5])
    given = PartitionedTable(None, table, None, x, x, (), {})
    assert given.scale.spread == pytest.approx([0.5])
    sampling = SimpleNamespace(known=w)
    weighed = PartitionedTable(None, table, None, x, x, (), {}, sampling=sampling)
    assert weighed.scale.spread == pytest.approx([3**0.5 / 4])
