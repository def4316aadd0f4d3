"""What people write, read with its lines: TOML files and their typed tables, rows of JSONL and CSV files."""
