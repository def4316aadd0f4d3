"""Reports of a run: comment, HTML page, terminal, and files for machines."""
