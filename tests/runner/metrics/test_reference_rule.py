"""Whether an answer gives a reference, decided without a model."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.answers import exact_match
from runner.metrics.reference_rule import decide_by_reference
from runner.metrics.right import Decision
from runner.text.matching import find_distinctions

CARD, FEE, LONG_KO = "Can I pay by card?", "What is the fee?", "환불은 얼마나 걸리나요?"

CASES: list[tuple[str, str, str, bool | None, str]] = [
    # question, reference, answer, right, by
    ("Which grade?", "A", "She got a B.", False, "absent"),
    ("Which grade?", "A", "She got an A.", True, "reference"),
    ("Which vitamin helps?", "Vitamin A", "Vitamin B helps.", False, "absent"),
    ("Which country?", "US", "Please tell us more; it is in France.", False, "absent"),
    ("Which language?", "C++", "It is written in C.", False, "absent"),
    ("Which file?", "app.log", "It is application.log.", False, "absent"),
    ("Which version?", "3.11", "You need 3.1 or later.", False, "other_amount"),
    (FEE, "3 euros", "| Item | Price |\n|---|---|\n| Fee | 3 euros |", True, "reference"),
    (FEE, "3 euros", "The fee is 9 euros.", False, "other_amount"),
    (FEE, "10 kg", "Up to 10 lb.", False, "other_amount"),
    (FEE, "$1,200", "The deposit is twelve hundred dollars.", True, "reference"),
    (FEE, "8 euros", "It was 8 euros until May; now it is 9 euros.", False, "denied"),
    (FEE, "9 euros", "It was 8 euros until May; now it is 9 euros.", True, "reference"),
    (FEE, "3 euros", "It is 3 euros, 5 euros or 9 euros.", False, "several"),
    (FEE, "$5", "There is no information.", False, "absent"),
    ("Which host?", "Japan", "It was either Japan or Norway.", False, "several"),
    ("Which city?", "Lyon", "It could be Lyon, Marseille or Nice.", None, "undecided"),
    ("Which city?", "Lyon", "Lyon and Nice were considered; in the end Nice was chosen.", False, "several"),
    ("Which city?", "Nice", "Lyon and Nice were considered; in the end Nice was chosen.", True, "reference"),
    ("Which host?", "Rio", "Rio? No. It is Brasilia.", False, "denied"),
    ("Which tool?", "Rust", "It is not written in Rust; it is a Go program.", False, "denied"),
    ("Which moon?", "Titan", "It is not Rhea, as many assume, but Titan.", True, "reference"),
    ("What was the former name?", "Acme", "It used to be Acme.", True, "reference"),
    ("Who is the coach?", "Maria Bo", "Maria Bo was the coach until last summer.", False, "denied"),
    (
        "What is the rate of Germany?",
        "5.3%",
        "The table gives 5.3% for Austria and 3.1% for Germany.",
        False,
        "elsewhere",
    ),
    ("Who is the officer?", "Ann", "| Role | Name |\n|---|---|\n| Lead | Ann |\n| Officer | Per |", False, "elsewhere"),
    ("Which drug?", "inner ear infection", "An infection of the ear.", True, "words"),
    ("Who wrote it?", "Toni Morrison", "Morrison.", None, "undecided"),
    ("Who wrote it?", "Albert Einstein", "아인슈타인", None, "undecided"),
    ("Who wrote it?", "Toni Morrison", "Jane Austen.", False, "absent"),
    (CARD, "No", "Yes, you can pay by card; there is no fee.", False, "yes_no"),
    (CARD, "Yes", "No. Yes was the old rule.", False, "yes_no"),
    (CARD, "No", "No, you cannot.", True, "yes_no"),
    (CARD, "No, cash only", "You cannot pay by card.", True, "yes_no"),
    (CARD, "Yes", "The shop opens at nine.", None, "undecided"),
    (LONG_KO, "14일", "환불은 **14**일 걸립니다.", True, "reference"),
    (LONG_KO, "14일", "환불은14일걸립니다.", True, "reference"),
    (LONG_KO, "14일", "두 주 걸립니다.", True, "reference"),
    (LONG_KO, "14일", "환불은 10일 걸립니다.", False, "other_amount"),
    ("退款需要多久?", "4天", "退款需要14天。", False, "other_amount"),
    ("首都はどこ?", "東京", "首都は東京です。", True, "reference"),
    ("카드로 결제할 수 있나요?", "아니요", "아니오, 안 됩니다.", True, "yes_no"),
    ("무슨 색인가요?", "파란색", "파란색이 아닌 초록색입니다.", False, "denied"),
    ("무슨 색인가요?", "초록색", "파란색이 아닌 초록색입니다.", True, "reference"),
    (
        "언제까지 무료로 취소할 수 있나요?",
        "24시간 전",
        "이용 24시간 전까지 무료로 취소할 수 있습니다.",
        True,
        "reference",
    ),
    ("환불은 며칠 안에 되나요?", "7일", "7일 안에 환불됩니다.", True, "reference"),
    ("How long can I return it?", "30 days", "It can be returned within 30 days.", True, "reference"),
    ("회의는 몇 시인가요?", "3시", "3시 회의는 취소됐습니다.", False, "denied"),
    ("현재 요금은?", "5천 원", "5천 원에서 6천 원으로 인상되었습니다.", False, "denied"),
    ("현재 요금은?", "6천 원", "5천 원에서 6천 원으로 인상되었습니다.", True, "reference"),
    ("큰 방의 면적은?", "20㎡", "작은 방은 20㎡이고 큰 방은 32㎡입니다.", False, "elsewhere"),
    ("며칠인가요?", "10일", "7일, 10일, 14일 중 하나입니다.", False, "several"),
    (
        "Which moon has the thickest air?",
        "Rhea",
        "Rhea is icy; the moon with the thickest air is Titan.",
        None,
        "undecided",
    ),
    (
        "How high is Mount Bell?",
        "900 m",
        "Mount Ark is 900 m high, whereas Mount Bell reaches 700 m.",
        False,
        "elsewhere",
    ),
    (
        "How high is Mount Bell?",
        "700 m",
        "Mount Ark is 900 m high, whereas Mount Bell reaches 700 m.",
        True,
        "reference",
    ),
    ("2호선의 길이는?", "50km", "1호선은 길이가 50km이고 2호선은 30km입니다.", False, "elsewhere"),
    ("서울 지사장은?", "이하나", "이하나 씨는 광주 지사장이며 서울은 박두리 씨가 맡습니다.", None, "undecided"),
    ("기본 요금제의 월 요금은?", "9,900원", "| 요금제 | 월 요금 |\n|---|---|\n| 기본 | 9,900원 |", True, "reference"),
    ("Which app isn't free?", "Nova", "Nova is free, while Luna isn't.", None, "undecided"),
    ("Can cats come in?", "Cats are not allowed", "Pets have to stay outside; they cannot come in.", True, "yes_no"),
    ("Are tyres covered?", "They are not covered", "Tyres are not excluded.", None, "undecided"),
    ("타이어도 보장되나요?", "보장하지 않는다", "타이어가 보장에서 빠지는 것은 아닙니다.", None, "undecided"),
    ("What is her name?", "The text does not say", "The text does not mention her name.", True, "reference"),
    ("Which colours?", "red, green and blue", "Red and blue.", False, "absent"),
    ("세 가지는?", "쌀, 보리, 밀", "쌀과 보리입니다.", False, "absent"),
    ("Where is it?", "Lake Wales, Florida", "In Florida.", None, "undecided"),
    ("Who signed it?", "Lyndon B. Johnson", "Andrew Johnson signed it.", False, "absent"),
    ("Who signed it?", "David Gahan", "Dave Gahan signed it.", None, "undecided"),
    ("Who wrote it?", "Johann Christian Bach", "Johann Sebastian Bach.", False, "absent"),
    ("Who wrote it?", "Carl Belew", "Carl Robert Belew.", True, "words"),
    ("누가 발표했나요?", "뉴턴", "뉴튼이 발표했습니다.", None, "undecided"),
    ("누가 진료하나요?", "서정민", "서정인 선생님입니다.", False, "absent"),
    ("누가 친구인가요?", "최보름", "보름이가 친구예요.", None, "undecided"),
    ("어디인가요?", "국민건강보험공단", "건보공단입니다.", None, "undecided"),
    ("When is it due?", "before the end of the month", "After the end of the month.", None, "undecided"),
    ("Which code?", "*#100#", "Dial *100#.", False, "absent"),
    ("Which file?", "config/app.yml", "It is app.yml in the folder config.", None, "undecided"),
    ("얼마나 쓰나요?", "1.8kW", "1800와트입니다.", True, "reference"),
    ("언제까지인가요?", "6월 30일", "6월 말일까지입니다.", None, "undecided"),
]


def test_the_rules() -> None:
    decisions = [(q, r, a, *_parts(decide_by_reference(q, [r], a))) for q, r, a, _, _ in CASES]
    assert [each for each in decisions if each not in CASES] == []


def _parts(decision: Decision | None) -> tuple[bool | None, str]:
    assert decision is not None
    return decision.right, decision.by


def test_nothing_decides_without_references() -> None:
    assert decide_by_reference("How long?", (), "14 days.") is None


def test_the_best_reference_counts() -> None:
    assert decide_by_reference("Who?", ["Ann", "Bo"], "It is Bo.") == Decision(True, "reference")
    assert decide_by_reference("Who?", ["Toni Morrison", "Bo Li"], "Morrison.") == Decision(None, "undecided")


@pytest.mark.parametrize(
    "sentence",
    [
        "The refund is paid to the account that the order came from",
        "주문한 날부터 두 주 안에 결제한 카드로 돌려 드립니다.",
    ],
)
def test_a_reference_of_a_sentence_needs_a_model_unless_it_stands_there(sentence: str) -> None:
    assert decide_by_reference("Where to?", [sentence], f"The account. {sentence[:9]}") == Decision(None, "needs_model")
    assert decide_by_reference("Where to?", [sentence], f"Well: {sentence}") == Decision(True, "reference")
    assert decide_by_reference("Where to?", [sentence], "Xyzzy!") == Decision(False, "absent")


def test_no_letter_is_right_for_another_one() -> None:
    wrong = [
        (kind, one, other)
        for kind in ("{}", "Plan {}", "Hepatitis {}", "비타민 {}")
        for one in string.ascii_uppercase
        for other in string.ascii_uppercase
        if one != other and _parts(decide_by_reference("Which?", [kind.format(one)], f"It is {kind.format(other)}."))[0]
    ]
    assert wrong == []


def test_another_reference_of_the_data_set_is_not_right() -> None:
    distinctions = find_distinctions(["The Who", "Who"])
    assert decide_by_reference("Which band?", ["The Who"], "Who.", distinctions) == Decision(None, "undecided")
    assert decide_by_reference("Which band?", ["The Who"], "The Who.", distinctions) == Decision(True, "reference")


TEXT = st.text(st.sampled_from("abcXYZ 019.,-+#½👍가나다 은東京のไтё١é'()&%$*_`|~"), min_size=1, max_size=10)
REFERENCE = (st.text(min_size=1, max_size=10) | TEXT).filter(lambda text: text.strip() != "")


@given(REFERENCE, st.sampled_from(["{}", "**{}**", "“{}”", "({})", "{}."]))
def test_a_reference_is_right_for_itself_whatever_stands_around_it(reference: str, wrapped: str) -> None:
    decision = decide_by_reference("What is it?", [reference], wrapped.format(reference))
    assert decision is not None and decision.right


@given(REFERENCE, REFERENCE)
def test_an_exact_match_is_right(answer: str, reference: str) -> None:
    decision = decide_by_reference("What is it?", [reference], answer)
    assert decision is not None and (decision.right or not exact_match(answer, [reference]))
