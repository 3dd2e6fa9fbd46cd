import time

import pytest

from runner.llm import tokens
from runner.llm.fencing import fence_fields
from runner.llm.tokens import Encoding, count_tokens, counter, estimate, is_exact
from runner.records import Context

KOREAN = """한강은 태백산맥에서 발원하여 한반도의 중부를 지나 서해로 흘러든다. 길이는 약 494킬로미터이고
유역 면적은 26,018제곱킬로미터로 남한에서 가장 넓다. 1925년 7월의 큰 홍수 때에는 하루에 300밀리미터가 넘는
비가 내려 제방이 무너졌고, 그 뒤로 여러 차례 물길을 고쳤다. 지금은 스물여덟 개의 다리가 강을 가로지르며,
시민들은 강가의 공원에서 자전거를 타거나 산책을 한다. 환불은 영업일 기준 5일이 걸리고, 구독을 해지하더라도
이미 결제한 기간이 끝날 때까지는 서비스를 그대로 이용할 수 있습니다. 자세한 내용은 고객 센터에 문의해 주세요."""
ENGLISH = """The observatory on the hill was built in 1907 and moved to the coast in 1964, together with its archive of
glass plates. Its main telescope has a mirror of 2.4 metres, which two people clean by hand every second Thursday in
May. Visitors come on forty evenings a year; the tickets are sold out within the first hour of the season. Refunds take
five working days, and whoever cancels a subscription may go on using the service until the period already paid for
has ended. For further questions, please write to the customer centre or call between nine and five."""
MIXED = """# 설치 방법 (Installation)

1. `pip install runner`를 실행합니다. Python 3.11 이상이 필요합니다.
2. OPENAI_API_KEY 환경 변수에 API key를 넣습니다.
3. `python -m runner +experiment=full_rag k=3,5,10` 명령으로 세 개의 run을 비교합니다."""


@pytest.mark.parametrize("text", [KOREAN, ENGLISH, MIXED, ENGLISH + KOREAN])
def test_prose_is_estimated_within_15_percent(text: str) -> None:
    assert is_exact()
    assert estimate(text) == pytest.approx(count_tokens(text), rel=0.15)


def test_the_exact_count_is_that_of_o200k() -> None:
    assert count_tokens("Hello, world! 안녕하세요") == 6
    assert count_tokens("") == 0


@pytest.mark.parametrize(
    "text", ["Привет, как дела?", "สวัสดีครับ", "日本語のテキスト", "مرحبا", "━━━━━━━━ 🎉", "1234567"]
)
def test_no_script_counts_nothing_or_more_than_its_bytes(text: str) -> None:
    assert 0 < estimate(text) <= len(text.encode())
    assert estimate(text) == pytest.approx(count_tokens(text), rel=1, abs=2)


def test_a_long_text_is_counted_once_by_each_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    class Counting:
        def count(self, text: str) -> int:
            counted.append(text)
            return 7

    long = f"{KOREAN} {time.time_ns()}"
    monkeypatch.setattr(tokens, "_encoding", lambda: Counting())
    assert [count_tokens(long), count_tokens(long), count_tokens("짧다"), count_tokens("짧다")] == [7, 7, 7, 7]
    assert counted == [long, "짧다", "짧다"]
    monkeypatch.setattr(tokens, "_encoding", lambda: None)
    assert count_tokens(long) == estimate(long) != 7


@pytest.mark.parametrize(
    "data", [KOREAN, ENGLISH, MIXED * 2, "/" + ENGLISH, "\n " + KOREAN, ENGLISH + "\n\n\t", "한>\n" * 99]
)
def test_a_prompt_has_the_tokens_of_its_parts(data: str) -> None:
    fields = {
        "contexts": [Context("a", data, "제목"), Context("b", ENGLISH), Context("c", data + "/")],
        "question": data,
    }
    prompt = fence_fields(fields, "ko")
    assert len(tokens._pieces(prompt)) > 4
    assert count_tokens(prompt) == tokens._encoding().count(prompt)


def test_an_empty_text_has_no_tokens() -> None:
    assert estimate("") == 0


def test_what_cannot_be_seen_counts_too() -> None:
    assert estimate("\u200b" * 400) == pytest.approx(count_tokens("\u200b" * 400), rel=0.1)


@pytest.mark.parametrize(
    ("encoding", "n_tokens"), [("auto", 11), ("o200k_base", 11), ("cl100k_base", 15), ("estimate", 11)]
)
def test_a_counter_by_the_name_of_its_encoding(encoding: Encoding, n_tokens: int) -> None:
    assert counter(encoding)("예산이 얼마야? 10,000 dollars") == n_tokens
