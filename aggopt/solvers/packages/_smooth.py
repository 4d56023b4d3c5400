"""Settings that several packages share."""

NLP = frozenset({"NLP"})
# smooth convex programs are nothing else to them; Pyomo has no other quadratic ones
SMOOTH = frozenset({"QP", "SOCP", "NLP"})
LOUD_IPOPT = {"print_level": 5, "sb": "no"}
QUIET_IPOPT = {"print_level": 0, "sb": "yes", "tol": 1e-9}
