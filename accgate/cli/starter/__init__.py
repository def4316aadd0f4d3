"""What `accgate init` asks, and the files that it writes."""
