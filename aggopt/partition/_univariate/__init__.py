"""The optimal partition of one attribute: a shortest path."""
