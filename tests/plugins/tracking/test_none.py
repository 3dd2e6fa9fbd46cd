from pathlib import Path

from plugins.tracking.none import NoTracking
from runner.protocols import Tracking


def test_nothing_is_kept_and_nothing_is_written(tmp_path: Path) -> None:
    tracking: Tracking = NoTracking()
    tracking.prepare()
    assert tracking.upload(tmp_path) is None
    assert tracking.upload_sweep(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
