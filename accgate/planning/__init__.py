"""From accuracy.toml to checks: task, reference, design and samples of each, and what they cost."""
