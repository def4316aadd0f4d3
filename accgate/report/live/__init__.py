"""A run in a browser of this machine.

The page shows how far the run is, and its report once it is decided.
"""
