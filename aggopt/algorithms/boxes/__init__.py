"""Lower bounds on the loss of groups that publish values true of all their records.

A group of records publishes a box: a node, an interval or a range of each attribute,
which contains all its records.  `box_list` lists each box that contains k records.
`ascent` finds a multiplier for each record, its price, so that in no box the prices of
a possible group exceed the loss of its records.  The sum of all prices is the bound.
`exact` lets a solver look for the best groups among the boxes that this leaves over.
"""

from aggopt.algorithms.boxes.ascent import run

__all__ = ["run"]
