"""Files that people write, read with their lines.

They are TOML files with typed tables, and rows of JSONL and CSV files.
"""
