"""The only parser of job files."""

from leantune.jobfile.job import Job, load_job, parse_job
from leantune.jobfile.settings import RunSettings

__all__ = ["Job", "RunSettings", "load_job", "parse_job"]
