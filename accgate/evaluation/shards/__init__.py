"""A part of the samples each: its run, all folders together, and the run that they join to."""
