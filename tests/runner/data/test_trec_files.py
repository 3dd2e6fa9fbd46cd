from pathlib import Path

import pytest

from runner.data import trec_runs
from runner.data.problems import ProblemLog
from runner.data.trec import Topic, TopicQrels, read_qrels, read_topics
from runner.errors import DataError

BLOCKS = """
<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that
participate &amp; profit.

<narr> Narrative:
A relevant document names one.
</top>

<top>
<num>302</num>
<title>Topic: 소아마비</title>
<desc></desc>
</top>
"""


def write(path: Path, text: str) -> str:
    file = path / "t.txt"
    file.write_text(text, encoding="utf-8")
    return str(file)


def topics(path: Path, text: str, field: str = "title") -> tuple[list[Topic], list[str]]:
    log = ProblemLog()
    found = read_topics(write(path, text), "dataset.topics", field, log)
    return found, [str(problem).replace(f"{path}/", "") for problem in log.problems]


def qrels(path: Path, text: str) -> tuple[dict[str, TopicQrels], list[str]]:
    log = ProblemLog()
    judged = read_qrels(write(path, text), "dataset.qrels", log)
    return judged, [str(problem).replace(f"{path}/", "") for problem in log.problems]


def test_topics_in_blocks(tmp_path: Path) -> None:
    assert topics(tmp_path, BLOCKS) == (
        [Topic("301", "International Organized Crime", 2), Topic("302", "소아마비", 14)],
        [],
    )


def test_another_part_of_a_block_may_be_the_query(tmp_path: Path) -> None:
    assert topics(tmp_path, BLOCKS, "desc") == (
        [Topic("301", "Identify organizations that participate & profit.", 2)],
        ["t.txt:14: the topic has no <desc>; it has: num, title"],
    )


def test_topics_with_their_number_in_the_tag(tmp_path: Path) -> None:
    text = '<topics>\n<topic number="1">\n<query>virus origin</query><question>where from?</question></topic></topics>'
    assert topics(tmp_path, text, "query") == ([Topic("1", "virus origin", 2)], [])
    assert topics(tmp_path, text, "question") == ([Topic("1", "where from?", 2)], [])


def test_topics_in_lines(tmp_path: Path) -> None:
    assert topics(tmp_path, "1\t첫 질문\r\n\r\nq2\ttwo\twords\u2028more\nno tab\n\tno id\n") == (
        [Topic("1", "첫 질문", 1), Topic("q2", "two\twords\u2028more", 3)],
        [
            "t.txt:4: expected an id, a tab and the text of the topic",
            "t.txt:5: expected an id, a tab and the text of the topic",
        ],
    )


def test_topics_in_json_lines(tmp_path: Path) -> None:
    text = '{"_id":"1","text":"one","metadata":{}}\n{"id":"2","query":"two"}\n{"_id":"3"}\n'
    assert topics(tmp_path, text) == (
        [Topic("1", "one", 1), Topic("2", "two", 2)],
        ["t.txt:3: text: expected text, found nothing"],
    )


def test_a_topic_that_comes_twice(tmp_path: Path) -> None:
    assert topics(tmp_path, "1\tone\n1\tagain\n") == (
        [Topic("1", "one", 1)],
        ["t.txt:2: id: '1' is already the id at t.txt:1; the first one counts"],
    )


def test_no_topics(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        topics(tmp_path, "")
    assert str(raised.value) == f"dataset.topics: no topics in {tmp_path}/t.txt"
    with pytest.raises(DataError) as raised:
        topics(tmp_path, BLOCKS, "titel")
    assert str(raised.value).endswith(
        "its lines have errors:\n"
        + "\n".join(
            f"  {tmp_path}/t.txt:{line}: the topic has no <titel>; it has: {parts}"
            for line, parts in ((2, "desc, narr, num, title"), (14, "num, title"))
        )
    )


def test_judgements(tmp_path: Path) -> None:
    text = "\ufeff1 0 a 2\n\n1\tQ0\tb\t0\r\n2 0 문서 -1\n1 0 a 2\n"
    assert qrels(tmp_path, text) == ({"1": TopicQrels({"a": 2, "b": 0}, 1), "2": TopicQrels({"문서": -1}, 4)}, [])


def test_comments_and_what_follows_the_last_column_are_passed_over(tmp_path: Path) -> None:
    log = ProblemLog(strict=True)
    path = tmp_path / "q.txt"
    path.write_text("# pooled\n1 0 a 2 by hand\n #1 0 b 1\n", encoding="utf-8")
    assert {topic: judged.grades for topic, judged in read_qrels(str(path), "qrels", log).items()} == {"1": {"a": 2}}


def test_judgements_in_three_columns(tmp_path: Path) -> None:
    text = "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n"
    assert qrels(tmp_path, text) == ({"1": TopicQrels({"a": 1, "b": 0}, 2)}, [])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1 0 a", "expected 4 columns (query iteration document grade), found 3"),
        ("1 0 a b 1", "grade: expected a whole number, found 'b'"),
        ("1 0 a x", "grade: expected a whole number, found 'x'"),
        ("1 0 a 1.0", "grade: expected a whole number, found '1.0'"),
        ("1 0 a ١", "grade: expected a whole number, found '١'"),
        ("1 0 ok 2", "grade: 'ok' is judged 1 and 2 for topic '1'; the first one counts"),
    ],
)
def test_bad_judgements_are_left_out(tmp_path: Path, line: str, problem: str) -> None:
    assert qrels(tmp_path, f"1 0 ok 1\n{line}\n") == ({"1": TopicQrels({"ok": 1}, 1)}, [f"t.txt:2: {problem}"])


def test_no_judgements(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        qrels(tmp_path, "1 a 1\n")
    assert str(raised.value) == (
        f"dataset.qrels: no judgements in {tmp_path}/t.txt; its lines have errors:\n"
        f"  {tmp_path}/t.txt:1: expected 4 columns (query iteration document grade), found 3"
    )


def test_the_data_set_and_the_scores_of_a_run_read_the_same_judgements(tmp_path: Path) -> None:
    """One grammar: what one of them reads or refuses, at which line, so does the other."""
    for text in (
        "query-id corpus-id score\nq1 a 2\nquery-id corpus-id score\nq2 b 0\n",
        "1 0 a 1\n# a comment\n\n2 0 문서 -1 more\n1 0 b 3\n",
        "q 0 d\u00a0e 1\n",
    ):
        (tmp_path / "t.txt").write_text(text, encoding="utf-8")
        fast = trec_runs.read_qrels(tmp_path / "t.txt")
        found, problems = qrels(tmp_path, text)
        assert problems == []
        assert {topic: judged.grades for topic, judged in found.items()} == {
            topic.decode(): {document.decode(): grade for document, grade in grades.items()}
            for topic, grades in fast.items()
        }
    for text, line in (
        ("1 0 a 1\nquery-id corpus-id score\n", 2),
        ("1 0 a 1\n1 0 b\n", 2),
        ("1 0 a 1\n\n1 0 a 2\n", 3),
    ):
        with pytest.raises(DataError, match=f"t.txt:{line}: "):
            (tmp_path / "t.txt").write_text(text, encoding="utf-8")
            trec_runs.read_qrels(tmp_path / "t.txt")
        assert [problem.partition(": ")[0] for problem in qrels(tmp_path, text)[1]] == [f"t.txt:{line}"]
