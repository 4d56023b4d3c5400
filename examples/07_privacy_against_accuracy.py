# %% [markdown]
"""How much accuracy does privacy cost?  A model of 442 patients, trained on groups.

Each fold trains on masked records only, and predicts records that it has not seen:
`unseen="nearest"` gives those the nearest published row.  That is for models.  The
release of all records is the one to publish: it is audited, and its risk is next to
the accuracy.

Run:  python examples/07_privacy_against_accuracy.py
"""

# %% The accuracy of a model of the originals
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aggopt.sklearn import Microaggregator

SIZES = [2, 5, 10, 20, 50]
FOLDS = 3
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = make_pipeline(StandardScaler(), RidgeCV())
plain = cross_val_score(model, X, y, cv=FOLDS).mean()
print(f"originals: R2 {plain:.3f}")

# %% The accuracy of models of masked records, and the risk of each release
quick = {"partition": "mdav", "partition_settings": {"bound": "none"}}
masked = make_pipeline(Microaggregator(**quick, unseen="nearest"), model)
grid = {"microaggregator__k": SIZES}
search = GridSearchCV(masked, grid, cv=FOLDS).fit(X, y)
accuracies = search.cv_results_["mean_test_score"]
linked = []
print(f"{'k':>3}{'R2':>8}{'rarest':>8}{'linked':>9}{'lost':>8}")
for k, accuracy in zip(SIZES, accuracies, strict=True):
    release = Microaggregator(k, **quick).fit(X)
    risk, rarest = release.measures_, release.audit_.smallest
    linked.append(risk.dld)
    print(f"{k:>3}{accuracy:>8.3f}{rarest:>8}{risk.dld:>9.2%}{risk.il:>8.1%}")
print("\nrarest: records that share the rarest combination; linked: records whose")
print("nearest released record is their own; lost: SSE / SST.")

# %% The price: accuracy against risk
figure = Figure(figsize=(5, 3))
axes = figure.subplots()
axes.plot(linked, accuracies, "o-", label="masked, by k")
axes.axhline(plain, color="#d55e00", linestyle="--", label="originals")
for k, *point in zip(SIZES, linked, accuracies, strict=True):
    axes.annotate(f"{k}", point, xytext=(4, -10), textcoords="offset points")
axes.set(xlabel="linked to the nearest (share)", ylabel="R2 of the model")
axes.legend()
figure

# %% Why the nearest row is never published
old, new = train_test_split(X, test_size=1 / FOLDS, random_state=0)
fitted = Microaggregator(5, **quick, unseen="nearest").fit(old)
counts = fitted.transform(new).value_counts()
print(f"Of {len(new)} new records")
print(f"{counts[counts < 5].sum()} get a row that fewer than 5 of them have.")
