from .paths import all_below, has_file, missing_file, path_in, plain_size, read_plain
from .python import parse_python
from .rows import Row, cluster_of, group_of, holds_only, id_of, read_table, repeat_of, score_of
from .toml import TomlFile, locate_faults, parsed_toml, read_toml
from .typed import CLOSED, Count, Flag, Number, Text, Texts, Whole, adapter_of, parse_table, parse_table_of

__all__ = [
    "CLOSED",
    "Count",
    "Flag",
    "Number",
    "Row",
    "Text",
    "Texts",
    "TomlFile",
    "Whole",
    "adapter_of",
    "all_below",
    "cluster_of",
    "group_of",
    "has_file",
    "holds_only",
    "id_of",
    "locate_faults",
    "missing_file",
    "parse_python",
    "parse_table",
    "parse_table_of",
    "parsed_toml",
    "path_in",
    "plain_size",
    "read_plain",
    "read_table",
    "read_toml",
    "repeat_of",
    "score_of",
]
