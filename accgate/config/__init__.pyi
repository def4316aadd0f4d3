from .config import Config, config_of, config_schema, load_config, select
from .tables import EngineName, Gate, Judge, Model, Report, Sampling, TaskSettings

__all__ = [
    "Config",
    "EngineName",
    "Gate",
    "Judge",
    "Model",
    "Report",
    "Sampling",
    "TaskSettings",
    "config_of",
    "config_schema",
    "load_config",
    "select",
]
