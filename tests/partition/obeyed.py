"""How a test holds a partitioner to the laws on records of its own."""

from aggopt.checks._partitioners import LAWS, TriedPartitioner
from aggopt.checks._records import Case

BY_NAME = {law.name: law for law in LAWS}
ON_ANY_RECORDS = (
    "groups_have_k_records",
    "no_group_could_be_split",
    "repeats_itself",
    "records_are_left_alone",
)


def obeys(f, X, k, laws=ON_ANY_RECORDS):
    """Hold f(X, k) to laws by their names, on these records alone."""
    case = Case("these records", X, k)
    tried = TriedPartitioner(
        "f", f, {}, {}, public=True, records=X, group_sizes=(k,), cases=(case,)
    )
    for law in laws:
        BY_NAME[law].judge(tried)
