"""Files of other evaluation tools: lm-evaluation-harness, Inspect and TensorRT-LLM's accuracy suite."""
