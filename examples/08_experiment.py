"""Go through a grid of methods and solvers: certificates and measures of every cell.

Cells that are done are kept in a folder: a second run, or one after Ctrl-C, goes on.

Run:  python examples/08_experiment.py
"""

from tempfile import TemporaryDirectory

from sklearn.datasets import load_diabetes

import aggopt

GRID = {
    "k": [3, 5],
    "partition": ["mdav", "cbfs"],
    "aggregation": ["mean", {"method": "p3m", "solver": "uno"}],
}


def main() -> None:
    table = load_diabetes(as_frame=True, scaled=False).data[["age", "bmi"]].head(60)
    roles = {"quasi-identifier": ["age", "bmi"]}
    with TemporaryDirectory() as folder:  # name one of your own to go on another day
        found = aggopt.experiment({"diabetes": table}, GRID, roles=roles, cache=folder)
        again = aggopt.experiment({"diabetes": table}, GRID, roles=roles, cache=folder)
    print(found)
    print(f"The second time all of it was in the cache: {again == found}")
    frame = found.to_pandas()
    best = frame.groupby(["k", "aggregation"])["pil"].min()
    print(best.round(3).to_string())


if __name__ == "__main__":
    main()
