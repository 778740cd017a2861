"""From a benchmark file to a plan of jobs, and from each job to its record."""
