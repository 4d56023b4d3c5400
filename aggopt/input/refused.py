"""What to do with a quasi-identifier that cannot be masked: never publish it."""

UNDONE = (
    "Published as it is (confidential, other), what others know of a person undoes k."
)
NOT_AS_THEY_ARE = (
    "recode them as numbers (an order such as low < middle < high as 0, 1, 2; "
    "categories as one 0/1 column each; a date as days since a day), or drop them, as "
    f"identifier. {UNDONE} Categorical quasi-identifiers are not supported yet."
)
