"""The only parser of job files."""
