"""Seeded changes of a text that should not change the right answer, for the metrics of robustness."""
