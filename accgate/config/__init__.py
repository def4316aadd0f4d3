"""accuracy.toml with its tables typed and checked.

Every fault has file and line. Nothing after planning takes a `Config`: planning turns it into checks.
"""
