from .export import export_lm_eval
from .inspect_logs import import_inspect
from .lm_eval import Choice, import_lm_eval
from .task_log import TaskLog, keep_records, missing_scores, write_run
from .trtllm import SuiteReference, keep_means, read_suite, suite_files, task_tables

__all__ = [
    "Choice",
    "SuiteReference",
    "TaskLog",
    "export_lm_eval",
    "import_inspect",
    "import_lm_eval",
    "keep_means",
    "keep_records",
    "missing_scores",
    "read_suite",
    "suite_files",
    "task_tables",
    "write_run",
]
