"""The optimal split of an ordering into groups."""
