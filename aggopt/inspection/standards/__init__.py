"""Guidelines on anonymisation as data, and the judgement of jobs and releases."""
