from .export import export_lm_eval
from .imported import Imported, unscored, write_run
from .inspect_logs import import_inspect
from .lm_eval import Choice, import_lm_eval
from .store import keep_means, keep_records, task_tables
from .trtllm import SuiteReference, read_suite, suite_files

__all__ = [
    "Choice",
    "Imported",
    "SuiteReference",
    "export_lm_eval",
    "import_inspect",
    "import_lm_eval",
    "keep_means",
    "keep_records",
    "read_suite",
    "suite_files",
    "task_tables",
    "unscored",
    "write_run",
]
