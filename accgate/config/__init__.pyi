from .config import Config, config_of, config_schema, load_config, select
from .tables import Gate, Judge, Model, Sampling, TaskSettings

__all__ = [
    "Config",
    "Gate",
    "Judge",
    "Model",
    "Sampling",
    "TaskSettings",
    "config_of",
    "config_schema",
    "load_config",
    "select",
]
