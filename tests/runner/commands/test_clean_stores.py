"""Collections of a store are listed, and go after a preview."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from plugins.store.qdrant import QdrantStore
from runner.cli import main
from tests.services.ports import free_port
from tests.store_kinds import OF_QDRANT, lists_and_deletes

pytestmark = OF_QDRANT

NAME = "runner_" + "b" * 24


def test_collections_go_after_a_preview(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(lists_and_deletes(tmp_path / ".runner_cache", QdrantStore()))
    (tmp_path / ".runner_cache" / "stores" / "qdrant" / "mine").mkdir()
    shown = []
    for words in (
        [],
        ["--older-than", "1"],
        ["--older-than", "0"],
        ["--older-than", "0", "--yes"],
        ["--language", "ko"],
    ):
        assert main(["clean", "stores", "store=qdrant", *words]) == 0
        shown.append(capsys.readouterr().out.splitlines())
    nothing = "nothing to delete (1 collections); choose what to delete with --older-than DAYS"
    assert shown == [
        [f"{NAME}  10 vectors, 0 days old", nothing],
        [f"{NAME}  10 vectors, 0 days old", nothing],
        [
            f"would delete {NAME}  10 vectors, 0 days old",
            "1 of 1 collections would be deleted; nothing was deleted yet, --yes deletes them",
        ],
        [f"deleted {NAME}  10 vectors, 0 days old", "1 of 1 collections deleted"],
        ["삭제할 것이 없습니다(컬렉션 0개). 삭제할 범위를 --older-than DAYS로 지정하세요"],
    ]
    assert [path.name for path in (tmp_path / ".runner_cache" / "stores" / "qdrant").iterdir()] == ["mine"]


def test_what_has_no_collections_or_does_not_answer_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean", "stores"]) == 1
    assert "`clean cache` cleans; expected another choice, such as store=qdrant" in capsys.readouterr().err
    url = f"http://127.0.0.1:{free_port()}"
    assert main(["clean", "stores", "store=qdrant", f"store.url={url}", "report.language=ko"]) == 3
    assert capsys.readouterr().err.splitlines() == [
        f"error: store.url: the store at {url} cannot be reached: All connection attempts failed (asked 1 times); is "
        "it up, and the address right?",
        f"오류: store.url: 저장소에 연결할 수 없습니다: {url}(All connection attempts failed, 시도 1회). 서버가 켜져 "
        "있는지, 주소가 맞는지 확인하세요.",
    ]
