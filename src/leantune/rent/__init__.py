"""Which machine to rent for a job, when to save and when to move."""
