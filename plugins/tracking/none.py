"""No tracking: the run folder is all there is."""

from __future__ import annotations

from pathlib import Path


class NoTracking:
    """Uploads nothing."""

    def prepare(self) -> None:
        pass

    def upload(self, folder: Path) -> str | None:
        return None

    def upload_sweep(self, folder: Path) -> str | None:
        return None
