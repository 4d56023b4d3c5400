"""What to do with a quasi-identifier that cannot be masked: never publish it."""

UNDONE = (
    "Published as it is (confidential, other), what others know of a person undoes k."
)
NOT_AS_THEY_ARE = (
    "make them numbers (a date as days since a day); if they are categories, say so "
    'under [attributes.NAME], with kind = "nominal", an order or a tree; or drop them, '
    f"as identifier. {UNDONE}"
)
