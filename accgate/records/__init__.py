"""Records of samples, one line each.

Here are the file, its scores as arrays, their clusters, and the fixed order of samples.
"""
