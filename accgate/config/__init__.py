"""accuracy.toml: its tables typed and checked, with file and line for every fault.

Nothing after planning takes a `Config`: planning turns it into checks.
"""
