"""Search for groups that publish true values at least loss."""
