"""The engine `vllm`: vLLM in this process."""
