"""From CSV files to a folder of Parquet files."""
