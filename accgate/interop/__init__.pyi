from .every_eval_ever import export_every_eval_ever
from .hub import export_hub
from .inspect_logs import import_inspect, inspect_files
from .lm_eval import Choice, import_lm_eval, lm_eval_files
from .lm_eval_export import export_lm_eval
from .nemo import import_nemo, nemo_files
from .run_folder import read_run
from .task_log import TaskLog, import_each, keep_records, missing_scores, write_run
from .trackers import export_mlflow, export_wandb
from .trtllm import NoAccuracies, SuiteReference, keep_means, read_suite, suite_files, task_tables

__all__ = [
    "Choice",
    "NoAccuracies",
    "SuiteReference",
    "TaskLog",
    "export_every_eval_ever",
    "export_hub",
    "export_lm_eval",
    "export_mlflow",
    "export_wandb",
    "import_each",
    "import_inspect",
    "import_lm_eval",
    "import_nemo",
    "inspect_files",
    "keep_means",
    "keep_records",
    "lm_eval_files",
    "missing_scores",
    "nemo_files",
    "read_run",
    "read_suite",
    "suite_files",
    "task_tables",
    "write_run",
]
