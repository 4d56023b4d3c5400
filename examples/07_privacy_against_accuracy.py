"""How much accuracy does privacy cost?  A model of 442 patients, trained on groups.

Each fold trains on masked records only, and predicts records that it has not seen:
`unseen="nearest"` gives those the nearest published row.  That is for models.  What is
published is the release of all records, which is audited, and whose risk stands beside
the accuracy.

Run:  python examples/07_privacy_against_accuracy.py
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aggopt.sklearn import Microaggregator

SIZES = [2, 5, 10, 20, 50]
FOLDS = 3


def main() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = make_pipeline(StandardScaler(), RidgeCV())
    print(f"as they are: R2 {cross_val_score(model, X, y, cv=FOLDS).mean():.3f}")

    masked = make_pipeline(Microaggregator(partition="mdav", unseen="nearest"), model)
    grid = {"microaggregator__k": SIZES}
    search = GridSearchCV(masked, grid, cv=FOLDS).fit(X, y)
    print(f"\n{'k':>3}{'R2':>8}{'rarest':>8}{'linked':>9}{'lost':>8}")
    for k, accuracy in zip(SIZES, search.cv_results_["mean_test_score"], strict=True):
        release = Microaggregator(k, partition="mdav").fit(X)
        risk, rarest = release.measures_, release.audit_.smallest
        print(f"{k:>3}{accuracy:>8.3f}{rarest:>8}{risk.dld:>9.2%}{risk.il:>8.1%}")
    print("\nrarest: records that share the rarest combination; linked: records whose")
    print("nearest released record is their own; lost: SSE / SST.")

    old, new = train_test_split(X, test_size=1 / FOLDS, random_state=0)
    fitted = Microaggregator(5, partition="mdav", unseen="nearest").fit(old)
    counts = fitted.transform(new).value_counts()
    print(f"\nWhy the nearest row is never published: of {len(new)} new records")
    print(f"{counts[counts < 5].sum()} get a row that fewer than 5 of them have.")


if __name__ == "__main__":
    main()
