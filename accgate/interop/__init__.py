"""Files of other evaluation tools.

Results of other tools come in, and runs go out to trackers and leaderboards.
"""
