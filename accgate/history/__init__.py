"""The history of a repository's runs: kept as lines that only grow, joined, shown, drawn and published."""
