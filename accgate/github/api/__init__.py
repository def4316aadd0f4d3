"""GitHub's REST API, and the branches and files of a repository."""
