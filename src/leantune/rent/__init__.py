"""Chooses the machine for a job, and the moments to save and to move."""
