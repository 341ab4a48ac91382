"""The only parser of job files."""

from leantune.jobfile.edit import with_budget
from leantune.jobfile.job import Job, load_job, parse_job
from leantune.jobfile.settings import RunSettings
from leantune.orchestrator.definition import Changes, changes

__all__ = ["Changes", "Job", "RunSettings", "changes", "load_job", "parse_job", "with_budget"]
