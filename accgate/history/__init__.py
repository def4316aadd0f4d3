"""The history of a repository's runs: a file of lines, its tables and its page."""
