from .clusters import clusters_of, codes_of
from .figures import CUT, Figures
from .file import ENDINGS, Record, RecordPaths, file_name, new_records, numbered_records, paths_of, read_gzip_lines, read_records, to_line
from .ids import Ids, Places
from .lock import sole_run
from .log import RecordLog, beginning_of, failed_of, fills, in_fixed_order, places_in, read_log, records_at
from .order import order_of
from .readings import readings_of, split_readings
from .replacement import Replacements, json_line, refuse_unwritable, replacing, write_atomically, write_gzip_lines
from .scores import Codes, Floats, Scores, check_bounds, collect, in_points, is_binary, pair_scores, read_scores
from .settings import FILES, JUDGE_SERVED, MEASURED, MERGED, NOT_COMPARED, PLAN, SERVED, STOPPED, settings_of_run, write_settings

__all__ = [
    "CUT",
    "Codes",
    "ENDINGS",
    "FILES",
    "Figures",
    "Floats",
    "Ids",
    "JUDGE_SERVED",
    "MEASURED",
    "MERGED",
    "NOT_COMPARED",
    "PLAN",
    "Places",
    "Record",
    "RecordLog",
    "RecordPaths",
    "Replacements",
    "SERVED",
    "STOPPED",
    "Scores",
    "beginning_of",
    "check_bounds",
    "clusters_of",
    "codes_of",
    "collect",
    "failed_of",
    "file_name",
    "fills",
    "in_fixed_order",
    "in_points",
    "is_binary",
    "json_line",
    "new_records",
    "numbered_records",
    "order_of",
    "pair_scores",
    "paths_of",
    "places_in",
    "read_gzip_lines",
    "read_log",
    "read_records",
    "read_scores",
    "readings_of",
    "records_at",
    "refuse_unwritable",
    "replacing",
    "settings_of_run",
    "sole_run",
    "split_readings",
    "to_line",
    "write_atomically",
    "write_gzip_lines",
    "write_settings",
]
