"""Reports of a run, as comment, HTML page, terminal output and files for machines."""
