from .config import Config, Gate, Judge, Model, Task, checked_config, chosen, config_schema, load_config

__all__ = [
    "Config",
    "Gate",
    "Judge",
    "Model",
    "Task",
    "checked_config",
    "chosen",
    "config_schema",
    "load_config",
]
