"""The way from accuracy.toml to planned checks.

Each check has its task, reference, design, samples and cost.
"""
