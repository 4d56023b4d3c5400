"""Where tasks run: this process, other processes, or a Dask cluster."""
