"""Whose rules decide on a pull request, which rules it changes, and whether that holds."""
