from .config import Config, config_of, config_schema, load_config, select
from .tables import EngineName, Gate, Judge, Model, Report, Sampling, Task

__all__ = [
    "Config",
    "EngineName",
    "Gate",
    "Judge",
    "Model",
    "Report",
    "Sampling",
    "Task",
    "config_of",
    "config_schema",
    "load_config",
    "select",
]
