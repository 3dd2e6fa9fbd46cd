from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from runner.errors import EvaluationError, StopRunError
from runner.retrieval.embeddings import EmbeddingStore, in_turn
from tests.runner.letters import MODEL, Letters, embed


def database(root: Path) -> Path:
    return next(root.rglob("*.sqlite"))


def test_rows_have_length_one_in_the_order_of_the_texts(tmp_path: Path) -> None:
    _, rows = embed(tmp_path, ["가나다", "a"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[3 / 10**0.5, 1 / 10**0.5], [0.5**0.5, 0.5**0.5]], rtol=1e-6)


def test_a_text_is_computed_once(tmp_path: Path) -> None:
    first, rows = embed(tmp_path, ["a", "bb", "a"])
    assert first.texts == ["a", "bb"]
    second, again = embed(tmp_path, ["bb", "ccc", "a"])
    assert second.texts == ["ccc"]
    np.testing.assert_array_equal(again[[2, 0]], rows[:2])


def test_a_query_is_not_a_passage(tmp_path: Path) -> None:
    embed(tmp_path, ["a"], "passage")
    letters, _ = embed(tmp_path, ["a"], "query")
    assert letters.texts == ["a"]


def test_models_do_not_share(tmp_path: Path) -> None:
    embed(tmp_path, ["a"])
    other = EmbeddingStore(tmp_path, {"model": "other"})
    assert other.has(["a"], "passage") == [False]
    other.embed(["a"], "passage", in_turn(Letters()), batch_size=1)
    assert len(list(tmp_path.rglob("*.sqlite"))) == 2


def test_what_is_known(tmp_path: Path) -> None:
    embed(tmp_path, ["a"])
    assert EmbeddingStore(tmp_path, MODEL).has(["a", "b", " \n"], "passage") == [True, False, True]


def test_batches(tmp_path: Path) -> None:
    letters, _ = embed(tmp_path, [str(n) for n in range(5)], batch_size=2)
    assert [len(batch) for batch in letters.batches] == [2, 2, 1]


def test_what_came_before_a_failure_is_kept(tmp_path: Path) -> None:
    def once(texts: list[str]) -> NDArray[np.float32]:
        if texts == ["b"]:
            raise EvaluationError("gone")
        return np.ones((len(texts), 2), dtype=np.float32)

    with pytest.raises(EvaluationError, match="gone"):
        EmbeddingStore(tmp_path, MODEL).embed(["a", "b"], "passage", in_turn(once), batch_size=1)
    assert EmbeddingStore(tmp_path, MODEL).has(["a", "b"], "passage") == [True, False]


def test_blank_texts_are_rows_of_zeros_that_nobody_computes(tmp_path: Path) -> None:
    letters, rows = embed(tmp_path, ["", "a", " \n"])
    assert letters.texts == ["a"]
    assert rows[[0, 2]].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert embed(tmp_path, [""])[1].tolist() == [[0.0]]
    assert embed(tmp_path, [])[1].shape == (0, 1)


def test_lone_surrogates_are_texts_of_their_own(tmp_path: Path) -> None:
    letters, _ = embed(tmp_path, ["\ud800", "\ud801", "\ud800"])
    assert letters.texts == ["\ud800", "\ud801"]


def test_more_texts_than_one_statement_takes(tmp_path: Path) -> None:
    texts = [str(n) for n in range(1203)]
    embed(tmp_path, texts, batch_size=400)
    letters, rows = embed(tmp_path, texts)
    assert letters.batches == []
    assert rows.shape == (1203, 2)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (np.ones((1, 2)), r"an array of shape \(1, 2\) for 2 texts"),
        (np.ones(2), r"an array of shape \(2,\) for 2 texts"),
        (np.array([[1.0, np.nan], [1.0, 1.0]]), "numbers that are not finite"),
    ],
)
def test_what_is_no_embedding_is_refused(tmp_path: Path, made: NDArray[np.float32], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        EmbeddingStore(tmp_path, MODEL).embed(["a", "b"], "query", in_turn(lambda texts: made), batch_size=8)
    assert EmbeddingStore(tmp_path, MODEL).has(["a"], "query") == [False]


def test_a_model_that_changes_its_size_is_noticed(tmp_path: Path) -> None:
    embed(tmp_path, ["a"])
    with pytest.raises(EvaluationError, match=r"vectors of different lengths: .* 2, 3 numbers in .*\.sqlite"):
        EmbeddingStore(tmp_path, MODEL).embed(
            ["a", "b"], "passage", in_turn(lambda texts: np.ones((1, 3), "f4")), batch_size=8
        )


def test_a_damaged_vector_is_computed_anew(tmp_path: Path) -> None:
    _, before = embed(tmp_path, ["a", "bb"])
    with sqlite3.connect(database(tmp_path)) as connection:
        ((digest, vector),) = connection.execute("SELECT digest, vector FROM embedding LIMIT 1").fetchall()
        connection.execute("UPDATE embedding SET vector = ? WHERE digest = ?", (vector[:-1] + b"\x41", digest))
    connection.close()
    letters, after = embed(tmp_path, ["a", "bb"])
    assert len(letters.texts) == 1
    np.testing.assert_array_equal(after, before)
    assert embed(tmp_path, ["a", "bb"])[0].texts == []


@pytest.mark.parametrize("content", [b"not a database at all", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_file_that_is_no_database_is_set_aside(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    embed(tmp_path, ["a"])
    path = database(tmp_path)
    path.write_bytes(content)
    letters, rows = embed(tmp_path, ["a"])
    assert letters.texts == ["a"]
    assert rows.shape == (1, 2)
    aside = path.with_suffix(".damaged")
    assert aside.read_bytes() == content
    assert capsys.readouterr().err == (
        f"note: the stored embeddings were damaged or of another version, and are now {aside}; they count as missing\n"
    )
    assert embed(tmp_path, ["a"])[0].texts == []
    assert capsys.readouterr().err == ""


def test_a_database_of_somebody_else_is_set_aside(tmp_path: Path) -> None:
    embed(tmp_path, ["a"])
    path = database(tmp_path)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE embedding (name TEXT)")
    connection.close()
    assert embed(tmp_path, ["a"])[0].texts == ["a"]
    assert path.with_suffix(".damaged").exists()


def test_what_was_being_written_to_a_damaged_file_goes_with_it(tmp_path: Path) -> None:
    embed(tmp_path, ["c"])
    path = database(tmp_path)
    log = path.with_name(f"{path.name}-wal")
    other = sqlite3.connect(path)  # keeps the log from being folded into the file
    other.execute("SELECT * FROM embedding").fetchall()
    embed(tmp_path, ["a"])
    written = log.read_bytes()
    other.close()
    path.write_bytes(b"x" * 8192)
    log.write_bytes(written)
    assert embed(tmp_path, ["b"])[0].texts == ["b"]
    assert EmbeddingStore(tmp_path, MODEL).has(["a", "b"], "passage") == [False, True]


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    embed(tmp_path, ["a"])
    store = EmbeddingStore(tmp_path, MODEL)
    path = database(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(StopRunError, match=rf"^{path}: unable to open database file$"):
        store.has(["a"], "query")
    assert path.is_dir()


def test_the_database_says_whose_it_is_and_lets_many_read_while_one_writes(tmp_path: Path) -> None:
    embed(tmp_path, ["a"])
    connection = sqlite3.connect(database(tmp_path))
    assert connection.execute("SELECT * FROM model").fetchall() == [('{"model": "letters"}',)]
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    connection.close()


def _write_many(root: Path, start: int) -> None:
    for n in range(start, start + 40):
        EmbeddingStore(root, MODEL).embed([f"text {n}"], "passage", in_turn(Letters()), batch_size=1)


def test_processes_write_side_by_side(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write_many, args=(tmp_path, 20 * n)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert EmbeddingStore(tmp_path, MODEL).has([f"text {n}" for n in range(80)], "passage") == [True] * 80
