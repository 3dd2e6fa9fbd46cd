import pytest

from runner.commands.generate.self_contained import refers_outside

STANDING = """
How long does the Moon need to circle the Earth?
How long does it take to get a refund from Nimbus?
Is it possible to change the plan of Nimbus?
What happens to unsaved notes when Nimbus crashes and they are lost?
What did Newton publish in his Principia?
How do I add a row in the table editor of Nimbus?
Where can a user find the source code of Nimbus?
Who wrote the article "On Computable Numbers"?
How many documents can the free plan of Nimbus hold?
Why do astronauts drink water before they sleep?
According to Kepler, how do planets move?
What does the text editor of Nimbus do with tabs?
How are documents listed on the start page of Nimbus?
달은 지구를 며칠에 한 바퀴 도나요?
님버스 문서에서 표를 추가하려면 어떻게 하나요?
통계청 자료에 따르면 2020년 서울 인구는 몇 명인가요?
삼성전자는 언제 설립되었으며 그 창업자는 누구인가요?
블로그 글에서 이미지를 삭제하면 어떻게 되나요?
이순신 장군이 태어난 해는 언제인가요?
그래프 데이터베이스의 장점은 무엇인가요?
다음 페이지로 넘어가려면 어떤 키를 누르나요?
이미지를 압축하려면 어떤 설정을 켜야 하나요?
이글루는 무엇으로 만드나요?
내용을 요약하는 기능의 이름은 무엇인가요?
노트에서 태그를 삭제하면 어떻게 되나요?
2019년에 시작한 이 사업의 예산은 얼마인가요?
""".strip().splitlines()

LEANING = """
According to the text, how long does a refund take? | According to the text
What is the main idea of this document? | this document
What does the author argue? | the author argue
Which limits are listed in the table? | listed in the table
Which steps are described above? | described above
What is said of refunds in the context? | in the context
Which refund does the given short text describe? | the given short text
When was it founded? | it
Where did he study? | he
How does this work? | this
What do these settings do? | these
What is the purpose of it? | it
What happens when it fails? | it
What are their responsibilities? | their
How many days does it need? | it
How long does it take them? | them
이 문서에서 설명하는 절차는 무엇인가요? | 이 문서에서
위 글에 따르면 환불은 며칠 걸리나요? | 위 글에
본문에서 언급된 두 가지 방법은? | 본문에서 언급된
주어진 자료에 따르면 무엇이 문제인가요? | 주어진 자료에
다음 글의 주제는 무엇인가요? | 다음 글의
자료에 따르면 환불은 며칠 걸리나요? | 자료에 따르면
환불 기간은 문서에 따르면 며칠인가요? | 문서에 따르면
글에서 말하는 핵심은 무엇인가요? | 글에서 말하는
표에 나온 가격은 얼마인가요? | 표에 나온
앞에서 설명한 방법의 장점은 무엇인가요? | 앞에서 설명
이 회사의 본사는 어디에 있나요? | 이 회사의
왜 이 기능은 꺼져 있나요? | 이 기능은
해당 서비스의 가격은 얼마인가요? | 해당 서비스의
그는 언제 태어났나요? | 그는
그것은 무엇으로 만들어졌나요? | 그것은
이러한 문제를 해결하는 방법은 무엇인가요? | 이러한 문제를
""".strip().splitlines()


@pytest.mark.parametrize("question", STANDING)
def test_questions_that_stand_alone(question: str) -> None:
    assert refers_outside(question) == ""


@pytest.mark.parametrize("line", LEANING)
def test_questions_that_lean_on_what_the_reader_does_not_have(line: str) -> None:
    question, _, words = line.partition(" | ")
    assert refers_outside(question) == words
