"""The history of a repository's runs, with its file, tables and page."""
