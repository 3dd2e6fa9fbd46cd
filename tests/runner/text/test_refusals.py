import hashlib
import json
from pathlib import Path

import pytest

from runner.text import refusals
from runner.text.courtesies import is_courtesy
from runner.text.language import Language, detect_language
from runner.text.refusal_cues import UNKNOWN, cue_groups, expression_borders, load, one_of, resolve_classes
from runner.text.refusals import REFUSAL, is_refusal, says_unknown

REFUSALS = [
    "제공된 자료만으로는 답변드리기 어렵습니다.",
    "죄송하지만 답변드리기 어렵습니다.",
    "해당 질문에 대한 정보가 제공되지 않았습니다.",
    "주어진 자료로는 알기 어렵습니다.",
    "질문하신 내용은 자료에 없습니다.",
    "답을 알 수 없어요.",
    "찾지 못했습니다.",
    "죄송하지만 확인할 수 없습니다.",
    "이 질문에는 답하기 어렵네요.",
    "I don't know.",
    "I am sorry, I don't have any specific knowledge about who takes the photos.",
    "Sorry, I do not have that information at the moment.",
    "The documents do not include information on how long to wait.",
    "The provided context does not mention the price. [1]",
    "The document does not provide specific reasons for the drop.",
    "The answer cannot be determined from the provided passages.",
    "It is not stated in the text.",
    "Not mentioned in the sources.",
    "No information found.",
    "Unanswerable",
    "There is no information about this in the documents. Please contact support.",
    "I'm sorry, but the text doesn't say when it was built.",
    "The sources do not answer the question. They only discuss billing.",
    "I'm unable to find the answer. Let me know if you have other questions.",
    "No related documents were found. Please check the menu below.\n- [FAQ](/faq)\n- [Guides](/guide)",
    "This content is not available yet.",
    "관련 문서를 찾지 못했습니다. 아래 메뉴를 확인해 주세요.\n- [자주 묻는 질문](/faq)",
    "해당 내용은 준비 중입니다.",
    "알 수 없습니다.",
    "잘 모르겠어요.",
    "죄송합니다. 제공된 문서에서 해당 내용을 찾을 수 없습니다.",
    "주어진 자료만으로는 알 수 없습니다.",
    "관련 정보가 없습니다.",
    "문서에 언급되어 있지 않습니다.",
    "그 질문에는 답변드릴 수 없습니다.",
    "컨텍스트에는 가격에 대한 정보가 포함되어 있지 않습니다.",
    "제공된 문서는 이 질문에 대한 답을 제공하지 않습니다.",
    "본문에는 설립 연도가 나와 있지 않아 답할 수 없습니다. 다른 질문이 있으시면 말씀해 주세요.",
    "아쉽지만 그 내용은 찾을 수가 없네요.",
    "그건 기록에 남아 있지 않네요.",
    "해당 질문은 문서의 범위를 벗어납니다.",
    "제공된 자료의 범위를 벗어난 질문입니다.",
    *REFUSAL.values(),
]

ANSWERS = [
    "재고가 남아 있지 않습니다.",
    "측정값이 허용 범위를 벗어납니다.",
    "아쉽지만 전시는 6월에 끝났습니다.",
    "손으로 쓴 글은 알아보기 어렵습니다.",
    "주말에는 전화로 답변하기 어렵지만 메일은 됩니다.",
    "휴대폰에서는 작은 글씨를 확인하기 어렵습니다.",
    "답변드리기 어렵습니다라는 안내가 나오면 다시 로그인하세요.",
    "요청하신 내용은 처리에 3일이 걸립니다.",
    "파일을 찾을 수 없다는 오류가 나면 다시 로그인하세요.",
    "",
    "The file does not exist.",
    "No, it is not included in the price.",
    "There is no fee.",
    "This content is not available in Korea yet.",
    "See the menu below for the price list.",
    "서비스는 현재 준비 중인 단계에 있으며 3월에 시작합니다.",
    "You cannot find the button on mobile.",
    "Unknown errors are logged.",
    "The contract does not include the deposit.",
    "The notes app does not support tables.",
    'The page shows "I cannot find the file" when it is missing.',
    "I do not have specific information on swimming. However, never let children swim unattended.",
    "Refunds take 5 days, but I don't know the fee.",
    "The similar series are A and B, but the document does not state that they are rivals.",
    "설정 파일을 찾을 수 없습니다 오류는 경로가 틀렸을 때 나옵니다.",
    "무료 체험에는 환불이 없습니다.",
    "이 기능은 더 이상 제공되지 않습니다.",
    "회원 탈퇴 후에는 복구할 수 없습니다.",
    "문서를 삭제하면 되돌릴 수 없습니다.",
    "비밀번호는 저장되지 않습니다.",
    "이 상품에는 보증 기간이 없습니다.",
]


BY_QUESTION = [
    json.loads(line) for line in Path(__file__).with_name("refusals_by_question.jsonl").read_text("utf-8").splitlines()
]
LABELLED = [json.loads(line) for line in Path(__file__).with_name("refusals.jsonl").read_text("utf-8").splitlines()]


def _half(text: str) -> str:
    return "check" if hashlib.sha256(text.encode()).digest()[0] % 2 else "development"


@pytest.mark.parametrize(
    ("half", "language", "precision", "recall"),
    [
        ("development", "ko", 1.0, 1.0),
        ("development", "en", 1.0, 1.0),
        ("check", "ko", 0.99, 0.97),
        ("check", "en", 0.98, 0.96),
    ],
)
def test_precision_and_recall_on_labelled_answers(half, language, precision, recall):
    """The grammar was made from the development half; nobody looked at the misses of the other one."""
    rows = [row for row in LABELLED if row["language"] == language and _half(row["text"]) == half]
    taken = [row for row in rows if is_refusal(row["text"], row.get("question"))]
    right = sum(row["refusal"] for row in taken)
    reached = (right / len(taken), right / sum(row["refusal"] for row in rows))
    print(f"{half} {language}: precision {reached[0]:.3f}, recall {reached[1]:.3f}, n {len(rows)}")  # noqa: T201
    wrong = [row for row in rows if row["refusal"] != (row in taken)]
    assert reached >= (precision, 0) and reached[1] >= recall, wrong


def test_the_list_is_large_and_of_both_kinds_and_languages():
    kinds = [(row["language"], row["refusal"]) for row in LABELLED]
    assert all(kinds.count(kind) >= 110 for kind in (("ko", True), ("ko", False), ("en", True), ("en", False)))


@pytest.mark.parametrize(
    ("text", "question", "refusal"),
    [
        ("없음", None, True),
        ("없음", "환불 수수료가 있나요?", False),
        ("없습니다.", "가입비를 내야 하나요?", False),
        ("없음", "미납 건은 몇 건인가요?", False),
        ("없음", "연회비는 얼마인가요?", False),
        ("없음", "설립 연도는 언제인가요?", True),
        ("자료에 없음", "환불 수수료가 있나요?", True),
        ("확인되지 않습니다.", "환불 수수료가 있나요?", True),
        ("매뉴얼에 나와 있지 않습니다.", "초기화 방법이 매뉴얼에 나와 있나요?", False),
        ("매뉴얼에 나와 있지 않습니다.", "초기화 방법은 무엇인가요?", True),
        ("None", None, True),
        ("None", "Is there a fee?", False),
        ("None", "How many people were hurt?", False),
        ("None.", "Who wrote it?", True),
        ("No.", None, False),
        ("No.", "Is there a fee?", False),
        ("No.", "Who wrote it?", True),
        ("The report does not mention a fee.", "Does the report mention a fee?", False),
        ("The report does not mention a fee.", "What is the fee?", True),
        ("Not specified.", "Is there a fee?", True),
    ],
)
def test_the_question_decides_what_nothing_means(text, question, refusal):
    assert is_refusal(text, question) is refusal


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("자료에 따르면 위약금은 확인되지 않습니다. 다만 계약 기간은 1년입니다.", True),
        ("문서에는 위약금이 명시되어 있지 않습니다. 다만 일반적으로 10%입니다.", False),
        ("위약금은 10%입니다. 그 밖의 조건은 문서에 없습니다.", False),
        ("문서에는 위약금이 나와 있지 않지만 계약 기간은 1년입니다.", False),
        ("The documents do not mention the fee. However, the contract runs for a year.", True),
        ("The documents do not mention the fee. It is usually 10 %.", False),
        ("The documents do not mention whether it is charged. Yes, it is.", False),
        ("There is no specific fee. However, you pay 10 % of the rest.", False),
        ("I don't have specific information on the fee. However, you pay 10 % of the rest.", False),
        ("I don't have information on the fee. As for the term, it is a year.", False),
    ],
)
def test_what_follows_a_refusal(text, refusal):
    assert is_refusal(text) is refusal


def test_refusals():
    assert [text for text in REFUSALS if not is_refusal(text)] == []


def test_answers_are_no_refusals():
    assert [text for text in ANSWERS if is_refusal(text)] == []


def test_one_sentence_of_an_answer_may_say_that_it_is_unknown():
    assert says_unknown("The documents do not include information about regional differences.")
    assert not says_unknown("Existing definitions of infertility lack uniformity.")


@pytest.mark.parametrize("language", ["ko", "en"])
def test_own_refusals_are_in_their_language(language):
    assert detect_language(REFUSAL[language]) == language


@pytest.mark.parametrize(
    "text",
    ["I'm sorry to hear that.", "Sure!", "Feel free to ask.", "Could you tell me more?", "죄송합니다.", "감사합니다."],
)
def test_courtesies(text):
    assert is_courtesy(text)


@pytest.mark.parametrize(
    "text", ["If you have Premium support, a price applies.", "Contact the bank.", "Sure signs are fever and pain."]
)
def test_statements_are_no_courtesies(text):
    assert not is_courtesy(text)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_each_cue_says_what_its_example_says(language: Language) -> None:
    """The example of each cue is of its kind, or of one that weighs the same, and its own cue matches it."""
    classes = dict(resolve_classes(load(language)["classes"]))
    start, end = expression_borders(language)
    wrong = []
    for kind, _, entries in cue_groups(load(language)["cues"]):
        for pattern, example in entries.items():
            clauses = [refusals.normalise_clause(clause) for clause in refusals.clauses(example)]
            cue = one_of({pattern: example}, classes, start, end)
            is_found = any(cue.search(clause) for clause in clauses)
            found = refusals.sentence_kind(example)
            if not is_found or (found in UNKNOWN) != (kind in UNKNOWN) or (found == "fact") != (kind == "fact"):
                wrong.append((kind, example, found, is_found))
    assert wrong == []


@pytest.mark.parametrize(("language", "found", "kept"), [("en", 0.83, 0.95), ("ko", 0.88, 0.98)])
def test_questions_tell_refusals_from_answers(language: str, found: float, kept: float) -> None:
    """On a list of hard cases: what refuses without a common phrase, and answers that deny, refer or quote."""
    rows = [row for row in BY_QUESTION if row["lang"] == language]
    by_label = {
        label: [is_refusal(row["answer"], row["query"]) for row in rows if row["label"] == label] for label in (0, 1)
    }
    assert sum(by_label[1]) / len(by_label[1]) >= found
    assert 1 - sum(by_label[0]) / len(by_label[0]) >= kept


@pytest.mark.parametrize(
    ("question", "answer", "refusal"),
    [
        ("Who won the race?", "As a language model I cannot browse the web. However, the winner is Mo Farah.", False),
        ("Who won the race?", "As a language model I cannot browse the web.", True),
        ("환불 기한은?", "환불 기한은 나와 있지 않습니다. 다만 각주에 30일로 적혀 있습니다.", False),
        ("환불 기한은?", "환불 기한은 나와 있지 않습니다. 다만 배송은 무료입니다.", True),
        ("Which rate applies?", "I can't discuss accounts. The tariff sheet gives a rate of 15.9 percent.", False),
        ("Can guests see the file?", "The file can't be seen by guests.", False),
        ("Is the author named?", "The author isn't named.", False),
        ("Who is the author?", "The author isn't named.", True),
        ("Which part is missing?", "The lid could not be found.", False),
        ("Where is the lid?", "The lid could not be found in the documents.", True),
        ("Where do I complain?", "Please contact the city's noise office.", False),
        ("What is the fine?", "Please contact the city's noise office.", True),
        ("What does the sign say?", "No entry", False),
        ("How many seats are there?", "The plan has been torn where the seats are counted.", True),
        ("How many seats are there?", "Forty, but the plan has been torn.", False),
        ("Who drew the map?", "The atlas is silent on the draughtsman.", True),
        ("What did the ferry cost?", "Our diary covers the crossing, but it doesn't say what the ferry cost.", True),
        (
            "What did the ferry cost?",
            "Our diary covers the crossing, which cost 4 shillings, but not the return.",
            False,
        ),
        ("Who rang the bell?", "The story never mentions a ringer; the author leaves it open.", True),
        ("Which road is closed?", "There is no road named in the notice.", True),
        ("Can you deliver to Malta?", "We are unable to deliver to Malta.", False),
        ("What is the song called?", '"Nobody Told Me"', False),
        ("What is the late fee?", "None. Take your time.", False),
        ("What is the late fee?", "The late fee isn't mentioned in my guide.", True),
        ("Where did they meet?", "I'm no historian, but the letter says in Vienna.", False),
        ("승강기는 누가 고쳤나요?", "점검표가 번져서 이름을 읽지 못하였습니다.", True),
        ("승강기는 누가 고쳤나요?", "수리 기사님 성함을 말씀드릴 수가 없어요, 고객님.", True),
        ("승강기는 누가 고쳤나요?", "승강기 얘긴 보고서에 없던데?", True),
        ("계약이 연장되나요?", "단기 계약이라 연장되지 않습니다.", False),
        ("이사회가 이유를 공개했나요?", "공개하지 않았습니다.", False),
        ("택시로 얼마쯤 나와요?", "정확히는 모르지만 이만원쯤?", False),
        ("날짜가 발표됐나요?", "아직 발표되지 않았습니다.", False),
        ("날짜는 언제인가요?", "아직 발표되지 않았습니다.", True),
    ],
)
def test_the_question_decides_what_answers(question: str, answer: str, refusal: bool) -> None:
    assert is_refusal(answer, question) is refusal
