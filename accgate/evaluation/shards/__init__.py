"""A part of the samples each.

Here are its run, all folders together, and the run that they join to.
"""
