from .rows import Row, cluster_of, id_of, read_table, repeat_of, score_of
from .toml import TomlFile, located, parsed_toml, read_toml
from .typed import CLOSED, Count, Flag, Number, Text, Texts, Whole, typed, validated

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
    "cluster_of",
    "id_of",
    "located",
    "parsed_toml",
    "read_table",
    "read_toml",
    "repeat_of",
    "score_of",
    "typed",
    "validated",
]
