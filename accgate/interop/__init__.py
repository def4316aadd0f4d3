"""Files of other evaluation tools: results in, and runs out to trackers and leaderboards."""
