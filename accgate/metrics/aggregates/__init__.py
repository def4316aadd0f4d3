"""Statistics over samples that are no means of scores: calibration, fairness, robustness, labels, repeats."""
