import pytest

from runner.domains.memory.extraction.facts import Fact
from runner.domains.memory.extraction.said import facts_of, stated_by_assistant, stated_by_user


@pytest.mark.parametrize(
    ("sentence", "key", "value", "old"),
    [
        ("By the way, our service is called Larkmart.", "service name", "Larkmart", ""),
        ("The project is called Halcyon.", "project name", "Halcyon", ""),
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
        ("태그가 없는 리소스는 7일 뒤에 삭제하기로 했어요.", "태그가 없는 리소스", "7일", ""),
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


def test_a_request_counts_where_it_changes_something() -> None:
    assert stated_by_user("목표를 20%로 바꿔 주세요. 표를 보여 주세요.") == [
        ("목표를 20%로 바꿔 주세요.", (Fact("목표", "20%"),))
    ]


def test_a_name_in_quotation_marks_is_one() -> None:
    ((sentence, facts),) = stated_by_user("The project's name is “Halcyon”.")
    assert (sentence, [fact.value for fact in facts]) == ("The project's name is “Halcyon”.", ["Halcyon"])


def test_an_assistant_tells_numbers_and_names() -> None:
    text = "Your cost was $12,500 in November. The share is large. If it grows, the limit is $9. You can set it to $5."
    assert [sentence for sentence, _ in stated_by_assistant(text)] == ["Your cost was $12,500 in November."]
