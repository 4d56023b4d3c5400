"""Executors that run tasks: this process, other processes, or a Dask cluster."""
