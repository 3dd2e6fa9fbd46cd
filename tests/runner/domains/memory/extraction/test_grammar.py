"""What a sentence is for, what it says of what, and whether two facts are of one thing."""

import pytest

from runner.domains.memory.extraction.grammar import Fact, any_of, facts_of, identity, kind, mood, same_thing, table


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("회사가 울산이었으면 좋겠어요", "wish"), ("2억이면 얼마나 좋겠어", "wish"), ("I wish I lived in Oslo", "wish"),
        ("만약 4시면 저는 못 가요", "condition"), ("가격 오르면 엑셀로 갈아탈 거예요", "condition"),
        ("if it's 4pm I can't join", "condition"), ("냉면 좋아해", "statement"), ("라면 자주 먹어요", "statement"),
        ("5천만 원으로 늘어날 수도 있어요", "possibility"), ("화요일로 바뀔지도 몰라요", "possibility"),
        ("might go up to $80k", "possibility"), ("The launch is in May", "statement"),
        ("3시로 옮겨도 될까요?", "question"), ("내년 6월에 끝나요", "statement"), ("is Jira any good?", "question"),
        ("친구가 대구로 이사했대요", "hearsay"), ("my friend says he moved to Oslo", "hearsay"),
        ("아 아니 대구야", "correction"), ("sorry, Madrid - not Oslo", "correction"),
        ("봄에 히트펌프로 교체했습니다", "changed"), ("we switched to a heat pump", "changed"),
        ("요즘 망원동 살아", "newly"), ("I live in Oslo now", "newly"),
        ("그 미팅 취소됐어요", "cancellation"), ("that meeting got cancelled", "cancellation"),
        ("나 조은별임", "statement"), ("오늘 날씨 진짜 좋네요", "chatter"), ("so tired today", "chatter"),
        ("We agreed that the servers may be off at night.", "statement"),
    ],
)  # fmt: skip
def test_moods(sentence: str, expected: str) -> None:
    assert mood(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "key", "value", "old"),
    [
        ("By the way, our service is called Larkmart.", "service", "Larkmart", ""),
        ("The project is called Halcyon.", "project", "Halcyon", ""),
        ("The January bill has arrived, the AWS total is $14,200.", "AWS total", "$14,200", ""),
        ("The report to the board goes to Daniel Okafor.", "report to the board", "Daniel Okafor", ""),
        ("Resources without tags are deleted after 7 days.", "Resources without tags", "7 days", ""),
        ("The required tags are team, env and owner.", "required tags", "team, env and owner", ""),
        ("We moved the launch date once more, to June 24.", "launch date", "June 24", ""),
        ("The budget was cut back from $150,000 to $130,000.", "budget", "$130,000", "$150,000"),
        ("For the other group the demo is 3 pm.", "other group demo", "3 pm", ""),
        ("The agency has a different process, namely staged.", "agency process", "staged", ""),
        ("I work as a nurse.", "job", "a nurse", ""),
        ("I'm originally from Peru.", "hometown", "Peru", ""),
        ("Call me Sam.", "name", "Sam", ""),
        ("Please change the limit to 20.", "limit", "20", ""),
        ("서비스별로 보면 EC2가 전체의 65%를 차지해요.", "EC2", "65%", ""),
        ("1월 청구서도 나왔는데 AWS 총비용이 $14,200이야.", "AWS 총비용", "$14,200", ""),
        ("태그가 없는 리소스는 7일 뒤에 삭제하기로 했어요.", "태그가 없는 리소스", "7일 뒤에 삭제하기", ""),
        ("저희 팀은 인원이 6명이에요.", "팀 인원", "6명", ""),
        ("클라우드는 GCP를 쓰기로 했어요.", "클라우드", "GCP", ""),
        ("권한 승인은 보안팀 최민호 님이 해요.", "권한 승인", "보안팀 최민호", ""),
        ("경영진 보고는 박지훈 상무님께 드려요.", "경영진 보고", "박지훈 상무", ""),
        ("회의를 화요일에서 목요일로 옮겼어요.", "회의", "목요일", "화요일"),
        ("결혼식은 6월 12일이 아니라 6월 19일이에요.", "결혼식", "6월 19일", "6월 12일"),
        ("저는 간호사예요.", "직업", "간호사", ""),
        ("저는 부산에 살아요.", "사는 곳", "부산", ""),
        ("v0.5로 올렸어요.", "버전", "v0.5", ""),
        ("예산: 1.2억", "예산", "1.2억", ""),
    ],
)
def test_facts(sentence: str, key: str, value: str, old: str) -> None:
    assert [(fact.key, fact.value, fact.old) for fact in facts_of(sentence)] == [(key, value, old)]


def test_several_clauses() -> None:
    found = facts_of("The rent is $900 and the deposit is $800, but the lease ends on May 3.")
    assert [(fact.key, fact.value) for fact in found] == [("rent", "$900"), ("deposit", "$800"), ("lease", "May 3")]
    found = facts_of("예산은 1억이고 담당자는 김민수인데 마감은 5월 3일이에요.")
    assert [(fact.key, fact.value) for fact in found] == [("예산", "1억"), ("담당자", "김민수"), ("마감", "5월 3일")]


@pytest.mark.parametrize(
    "sentence",
    [
        "With that it would be $5.", "It is $5.", "We should meet.", "I will be back after lunch.", "This is nice.",
        "30 days are enough.",
        "요즘 비가 자주 와서 힘드네요.", "RDS 비중이 꽤 크네요.", "12대가 모두 쓰이고 있어요.",
        "네, 그렇게 할게요.",
    ],
)  # fmt: skip
def test_no_facts(sentence: str) -> None:
    assert facts_of(sentence) == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("budget", "$5"), ("our current budget", "$6"), True),
        (("budget", "$5"), ("marketing budget", "$6"), False),
        (("the budgets", "$5"), ("budget", "unlimited"), True),
        (("launch date", "May 3"), ("launch", "June 1"), True),
        (("launch", "Berlin"), ("launch date", "June 1"), False),
        (("출시일", "5월 3일"), ("출시", "6월 1일"), True),
        (("예산", "1억"), ("올해 예산", "2억"), True),
        (("예산", "1억"), ("내년 예산", "2억"), False),
        (("11월 비용", "100만 원"), ("12월 비용", "90만 원"), False),
        (("cost", "$500 in May"), ("cost", "$700 in June"), False),
        (("cost", "$500 in May"), ("cost", "$700 in May"), True),
        (("팀장 이름", "김서연"), ("팀장", "이도윤"), True),
        (("dog's name", "Bori"), ("dog", "Coco"), True),
        (("group size", "38"), ("other group group size", "36"), False),
        (("예산", "1억"), ("다른 예산", "2억"), False),
        (("v2 budget", "$5"), ("v3 budget", "$5"), False),
        (("2025 budget", "$5"), ("2026 budget", "$5"), False),
    ],
)
def test_what_is_the_same_thing(one: tuple[str, str], other: tuple[str, str], same: bool) -> None:
    assert same_thing(Fact(*one), Fact(*other)) is same
    assert same_thing(Fact(*other), Fact(*one)) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("6 developers", "8 developers", True),
        ("6 developers", "3 meetings", False),
        ("65%", "70%", True),
        ("65%", "$9", False),
    ],
)
def test_loose_facts_are_of_one_thing_if_their_values_are_of_one_kind(one: str, other: str, same: bool) -> None:
    assert same_thing(Fact("team", one, is_loose=True), Fact("team", other)) is same


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1.5억", "number"), ("$12,000", "dollar"), ("5월 3일", "date"), ("May 3", "date"), ("Thursday", "weekday"),
     ("목요일", "weekday"), ("9:30 am", "clock"), ("60%", "%"), ("30 days", "second"), ("blue", "text"),
     ("8 developers", "developer"), ("9,000만", "number")],
)  # fmt: skip
def test_kinds(value: str, expected: str) -> None:
    assert kind(value) == expected


def test_a_key_of_nothing_but_fillers_is_still_one() -> None:
    assert identity("our total") == {"our", "total"} or identity("our total") == {"total"}
    assert identity("!") == {"!"}


def test_phrases() -> None:
    import re

    pattern = re.compile(
        any_of(["so *ing", "would rather … than", "if", "면>", "^아 아니", "맞아요$", "\\*"]), re.IGNORECASE
    )
    found = [
        "so charming",
        "I'd say I would rather have tea than milk",
        "if so",
        "오면 가요",
        "아 아니 대구",
        "네 맞아요ㅎㅎ",
        "*Noreen",
    ]
    assert [sentence for sentence in found if not pattern.search(sentence)] == []
    assert [
        sentence for sentence in ["gift", "if's", "면담", "난 아 아니", "맞아요 그래요"] if pattern.search(sentence)
    ] == []


def test_both_languages_have_the_same_moods() -> None:
    assert table("en")["moods"].keys() == table("ko")["moods"].keys()
