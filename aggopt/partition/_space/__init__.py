"""Records in space: an order in which neighbours are near, parts of it, neighbours."""
