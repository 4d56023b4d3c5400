"""Remedy for a quasi-identifier that cannot be masked: never publish it."""

UNDONE = (
    "Published as it is (confidential, other), what others know of a person undoes k."
)
NOT_AS_THEY_ARE = (
    "make them numbers; if they are categories, or text that spells dates, say so under"
    ' [attributes.NAME], with kind = "nominal", an order or a tree, or kind = "date"; '
    f"or drop them, as identifier. {UNDONE}"
)
CHECK = "`aggopt check` says what that would do."
