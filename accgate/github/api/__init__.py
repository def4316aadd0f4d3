"""GitHub's REST API: requests that are repeated where that is safe, and the branches and files of a repository."""
