"""Tables beyond memory: a folder of Parquet files becomes another, pass by pass."""
