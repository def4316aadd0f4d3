"""Seeded changes of a text, which serve the metrics of robustness."""
