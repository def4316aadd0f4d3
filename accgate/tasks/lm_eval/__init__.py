"""Tasks of lm-evaluation-harness, run by accgate with its prompts and its scorer."""
