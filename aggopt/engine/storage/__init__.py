"""Files of a run: input parts, scratch files, the journal and output folders."""
