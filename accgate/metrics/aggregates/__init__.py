"""Statistics over samples that are no means of scores.

Calibration, fairness, robustness, labels and repeated answers each have a module.
"""
