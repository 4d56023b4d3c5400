"""Attributes together, in blocks, one by one: less is lost, and less is protected.

k = 5 patients share all values of a release, then those of each block, then each value
alone.  "unique" counts patients whose combination of values no other has.

Run:  python examples/03_blocks_of_attributes.py
"""

from pathlib import Path

from sklearn.datasets import load_diabetes

import aggopt

HERE = Path(__file__).parent


def main() -> None:
    table = load_diabetes(as_frame=True, scaled=False).data[["age", "sex", "bmi", "bp"]]
    blocks = aggopt.Job.read(HERE / "blocks.toml")
    together = blocks.partition.model_copy(update={"attributes": "together"})
    jobs = {
        "together": blocks.model_copy(update={"partition": together}),
        "in blocks": blocks,
        "one by one": aggopt.Job.read(HERE / "individual_ranking.toml"),
    }
    print(f"{'attributes':<12}{'k':>3}{'IL':>9}{'DLD':>9}{'SDID':>9}{'unique':>9}")
    for name, job in jobs.items():
        release = aggopt.mask(table, job)
        found, measures = release.audit, release.measures
        shares = measures.il, measures.dld, measures.sdid, found.unique / found.records
        columns = "".join(f"{share:>9.1%}" for share in shares)
        print(f"{name:<12}{found.smallest:>3}{columns}")
    print(f"\n{release.audit}\n")
    for part in release.manifest()["partition"]:
        proof = part["certificate"]
        print(f"{part['attributes'][0]}: {part['groups']} groups, {proof['status']}")


if __name__ == "__main__":
    main()
