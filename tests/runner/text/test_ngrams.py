from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.text.ngrams import count_ngrams


def decoded(code: int) -> str:
    points = [code >> 42, code >> 21 & 0x1FFFFF, code & 0x1FFFFF]
    return "".join(chr(point) for point in points if point)


def row(text: str) -> dict[str, int]:
    counted = count_ngrams([text])
    return {decoded(code): count for code, count in zip(counted.codes.tolist(), counted.counts.tolist(), strict=True)}


def test_pairs_and_triples_with_one_space_between_words() -> None:
    assert row("Ab, ab") == {
        " a": 2, "ab": 2, "b ": 2,
        " ab": 2, "ab ": 2, "b a": 1,
    }  # fmt: skip


def test_rows_follow_each_other() -> None:
    counted = count_ngrams(["가", "", "가나"])
    assert counted.offsets.tolist() == [0, 3, 3, 8]
    assert [decoded(code) for code in counted.codes[:3].tolist()] == [" 가", "가 ", " 가 "]


def test_nothing_is_no_row() -> None:
    assert count_ngrams([]).offsets.tolist() == [0]
    assert count_ngrams(["?!", "\ud800", "🙂"]).offsets.tolist() == [0, 0, 0, 0]


@given(st.text(st.characters(), max_size=30))
def test_as_counting_strings_would_have_it(text: str) -> None:
    import re
    import unicodedata
    from collections import Counter

    letters = re.sub(r"[\W_]+", " ", unicodedata.normalize("NFC", text).lower()).strip()
    padded = f" {letters} " if letters else ""
    expected = Counter(padded[i : i + n] for n in (2, 3) for i in range(len(padded) - n + 1))
    assert row(text) == dict(expected)
