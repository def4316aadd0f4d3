"""Files of other evaluation tools.

Results come in, and runs go out to trackers and leaderboards.
"""
