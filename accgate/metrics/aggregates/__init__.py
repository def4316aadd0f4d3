"""Statistics over samples that are no means of scores.

They measure calibration, fairness, robustness, labels, and repeats.
"""
