import pytest

from runner.text.language import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("환불은 며칠 이내에 가능한가요?", "ko"),
        ("How long do refunds take?", "en"),
        ("Docker에서 volume을 mount하는 방법", "ko"),
        ("BM25란?", "ko"),
        ("The Beatles 노래 추천", "ko"),
        ("What does 안녕 mean?", "en"),
        ("What is the meaning of 데이터베이스?", "en"),
        ("ㅋㅋㅋ", "ko"),
        ("", "en"),
        ("12345", "en"),
    ],
)
def test_language(text, language):
    assert detect_language(text) == language
