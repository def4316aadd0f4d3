"""What people write, read with its lines.

It is TOML files and their typed tables, rows of JSONL and CSV files.
"""
