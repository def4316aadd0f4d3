"""From accuracy.toml to checks.

Each has its task, reference, design and samples, and what they cost.
"""
