"""No documents: for a chat with a memory alone."""

from __future__ import annotations

from runner.data.corpus import EMPTY
from runner.records import DataSet


class NoDataset:
    """Neither documents nor questions."""

    def load(self) -> DataSet:
        return DataSet(EMPTY, ())
