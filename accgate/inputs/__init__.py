"""What people write, read with its lines: TOML files and their typed tables, rows of JSONL and CSV files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
