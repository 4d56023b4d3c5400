"""Repairs, one file each: what makes groups satisfy what a partition does not keep."""
