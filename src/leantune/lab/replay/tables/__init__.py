"""Tables of measurements: any CSV with a YAML beside it that says which columns are what (docs/replay-tables.md)."""

from leantune.lab.replay.tables.description import Remark
from leantune.lab.replay.tables.loading import (
    DATA_VARIABLE,
    MeasuredTable,
    default_data,
    load_table,
    preset_names,
    preset_text,
)

__all__ = ["DATA_VARIABLE", "MeasuredTable", "Remark", "default_data", "load_table", "preset_names", "preset_text"]
