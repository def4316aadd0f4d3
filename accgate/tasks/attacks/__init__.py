"""Seeded changes of a text that should not change the right answer.

They serve the metrics of robustness.
"""
