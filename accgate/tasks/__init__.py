"""What is asked: definitions, datasets, prompts, extraction and generated tasks."""
