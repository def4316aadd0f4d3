from .figures import Figures, readings_of, split_readings
from .file import (
    ENDINGS,
    ENVIRONMENT,
    FILES,
    JUDGE_SERVED,
    MEASURED,
    MERGED,
    NOT_COMPARED,
    PLAN,
    SERVED,
    STOPPED,
    Record,
    RecordPaths,
    count_lines,
    file_name,
    new_records,
    paths_of,
    read_gzip_lines,
    read_records,
    records_with,
    settings_of_run,
    to_line,
    write_settings,
)
from .finish import CUT
from .ids import Ids, Places, order_of
from .lock import sole_run
from .log import RecordLog, beginning_of, empty_log, failed_of, fills, places_in, read_log, records_at
from .membership import clusters_of, codes_of
from .pairing import pair_scores
from .replacement import Replacements, json_line, refuse_unwritable, replacing, write_atomically, write_gzip_lines
from .scores import Codes, Floats, Scores, check_bounds, collect, in_points, is_binary, read_scores

__all__ = [
    "CUT", "ENDINGS", "ENVIRONMENT", "FILES", "JUDGE_SERVED", "MEASURED", "MERGED", "NOT_COMPARED", "PLAN", "SERVED",
    "STOPPED", "Codes", "Figures", "Floats", "Ids", "Places", "Record", "RecordLog", "RecordPaths", "Replacements",
    "Scores", "beginning_of", "check_bounds", "clusters_of", "codes_of", "collect", "count_lines", "empty_log",
    "failed_of", "file_name", "fills", "in_points", "is_binary", "json_line", "new_records", "order_of", "pair_scores",
    "paths_of", "places_in", "read_gzip_lines", "read_log", "read_records", "read_scores", "readings_of", "records_at",
    "records_with", "refuse_unwritable", "replacing", "settings_of_run", "sole_run", "split_readings", "to_line",
    "write_atomically", "write_gzip_lines", "write_settings",
]  # fmt: skip
