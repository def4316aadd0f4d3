"""The way from accuracy.toml to checks, each with its task, reference, design, samples and cost."""
