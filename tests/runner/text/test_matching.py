"""What a text says, in whatever form."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.matching import find_distinctions, gives, is_written, mentions, shows, shows_inside

SHOWN = [
    ("예산은 1.5억으로 늘었다", "1.5억"),
    ("예산은 1.5억 원", "1.5억"),
    ("예산은 1.5억원입니다", "1.5억"),
    ("예산은 1.5 억", "1.5억"),
    ("예산은 1.5억", "1.5 억"),
    ("1억 5000만 원", "1억 5000만원"),
    ("1억5,000만", "1억 5000만"),
    ("예산 1억 12월 집행", "1억"),
    ("예산 1억 12월 집행", "12월"),
    ("3억명", "3억"),
    ("1억이에요", "1억"),
    ("Spent $12,500 so far", "$12500"),
    ("Spent $12500 so far", "$12,500"),
    ("1-5", "5"),
    ("10.", "10"),
    ("10, 20", "10"),
    ("60%", "60"),
    ("RI 커버리지는 60%예요", "60%"),
    ("2024년 11월", "11월"),
    ("1월은 바쁘다", "1월"),
    ("직원은 10명", "10"),
    ("김민수예요", "김민수"),
    ("부산으로는 간다", "부산"),
    ("고향이 부산이었어요", "부산"),
    ("이전을 완료했습니다", "완료"),
    ("진행 중이다", "진행 중"),
    ("진행중입니다", "진행 중"),
    ("AWS는", "aws"),
    ("The cat's tail", "CAT"),
    ("a cat's tail", "the cat"),
    ("new \n\t York", "New York"),
    ("EC2가 65%", "ec2"),
    ("비\u200b밀번호", "비밀 번호"),
    ("Straße", "STRASSE"),
    ("a 110 and 10", "10"),  # not the first occurrence
    ("아아 아아아", "아아"),
    ("two cats", "cat"),
    ("She has taught yoga", "teach yoga"),
    ("보라고래님께서", "보라고래"),
    ("총 1억 5천만 원", "1.5억"),
    ("at half past two in the afternoon", "14:30"),
    ("2026-11-03", "11월 3일"),
    ("서른두 살", "32살"),
    ("번호는 01012345678이에요", "010-1234-5678"),
]


def test_shown() -> None:
    """Also in letters that are taken apart, and beside another form."""
    missed = []
    for text, form in SHOWN:
        apart, form_apart = (unicodedata.normalize("NFD", word) for word in (text, form))
        ways = ((text, [form]), (apart, [form]), (text, [form_apart]), (text, ["없는 말", form]))
        missed += [way for way in ways if not shows(*way)]
    assert missed == []


NOT_SHOWN = [
    ("예산은 1.2억이다", "1억"),
    ("예산은 1.2억이다", "2억"),
    ("110개", "10"),
    ("101", "10"),
    ("10.5", "10"),
    ("0.10", "10"),
    (".5", "5"),
    ("-5", "5"),
    ("−5", "5"),
    ("10:30", "10"),
    ("8:10", "10"),
    ("10억", "10"),
    ("10 억", "10"),
    ("$10 million", "10"),
    ("10k", "10"),
    ("10GB", "10"),
    ("v10", "10"),
    ("EC2", "2"),
    ("5천만", "5천"),
    ("1억 5000만 원", "1억"),
    ("1억5천", "1억"),
    ("1억 5000만 원", "5000만"),
    ("1억 2000원", "2000원"),
    ("11월", "1월"),
    ("160%", "60%"),
    ("부산물", "부산"),
    ("서울특별시", "서울"),
    ("예산안", "예산"),
    ("김민수", "민수"),
    ("concat", "cat"),
    ("cat5", "cat"),
    ("5cat", "cat"),
    ("", "10"),
    ("10", ""),
]


def test_not_shown() -> None:
    assert [(text, form) for text, form in NOT_SHOWN if shows(text, [form])] == []


def test_what_a_fact_was_changed_to_does_not_show_it() -> None:
    assert shows("출시는 5월 20일이다.", ["5월"])
    assert not shows("출시는 5월 20일이다.", ["5월"], besides=["5월 20일"])
    assert shows("5월에 시작하고 5월 20일에 출시한다.", ["5월"], besides=["5월 20일"])
    assert not shows("출시는 5월에서 5월 20일로 바뀌었다.", ["5월"], besides=["5월 20일"])
    assert shows("AWS", ["AWS"], besides=["AWS"])  # the same words are no longer ones
    assert not shows("AWS GovCloud", ["AWS"], besides=["AWS GovCloud"])
    assert shows("AWS GovCloud", ["AWS GovCloud"], besides=["AWS"])


def test_inside_words() -> None:
    assert shows_inside("보라고래빵집", ["보라고래"]) and not shows("보라고래빵집", ["보라고래"])
    assert shows_inside("xxCANARY-7xx", ["canary-7x"])
    assert not shows_inside("43210", ["4321"]) and not shows_inside("14321", ["4321"])
    assert not shows_inside("anything", ["", " "])


FORM = st.text(st.characters(categories=["Lu", "Ll", "Nd", "Lo"], max_codepoint=0xD7A3), min_size=1, max_size=6)


@given(FORM)
def test_a_form_shows_between_punctuation(form: str) -> None:
    assert shows(form, [form]) and shows_inside(form, [form])
    assert shows(f"({form})", [form]) and shows(f"xyz ({form}), xyz", [form])


@given(st.text(max_size=40), FORM)
def test_what_is_stated_or_given_is_mentioned(text: str, form: str) -> None:
    if shows(text, [form]) or gives(text, [form]):
        assert mentions(text, [form])


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("It is not Busan but Seoul", "Seoul"),
        ("부산이 아니라 서울이에요", "서울"),
        ("He formerly worked at Google", "Google"),
        ("Symptoms may include fever", "fever"),
        ("예전에는 간호사였어요", "간호사"),
        ("Is it yes? Yes.", "yes"),
        ("아니요, 환불되지 않습니다", "아니요"),
        ("She did not move until 1999", "1999"),
        ("Directives do not allow it", "Directives"),
    ],
)
def test_an_answer_gives_what_it_does_not_refute(text: str, form: str) -> None:
    assert gives(text, [form])


@pytest.mark.parametrize(
    ("text", "form"),
    [("It is not Busan but Seoul", "Busan"), ("부산이 아니라 서울이에요", "부산"), ("It isn't 8 euros", "8 euros")],
)
def test_an_answer_does_not_give_what_it_refutes(text: str, form: str) -> None:
    assert mentions(text, [form]) and not gives(text, [form]) and not shows(text, [form])


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_number_shows_where_it_is_the_same(one: int, other: int) -> None:
    assert shows(f"금액은 {one:,}원이다", [str(other)]) == (one == other)
    assert shows(f"It is {one}.", [f"{other:,}"]) == (one == other)


GIVEN = [
    ("She got an A.", "A"),
    ("A is her grade", "A"),
    ("It is in the U.S.", "US"),
    ("it's the nba", "NBA"),
    ("i take vitamin a", "Vitamin A"),
    ("PARIS!", "Paris"),
    ("The cafe", "Café"),
    ("It is written in C++.", "C++"),
    ("Use .NET or C#", ".NET"),
    ("`--force`(-f)를 붙이면", "--force"),
    ("React with the check mark (✅).", "✅"),
    ("It is ½.", "½"),
    ("half a cup", "½ cup"),
    ("영하 18도로 맞추세요", "-18도"),
    ("minus 5", "-5"),
    ("退款需要14天。", "14天"),
    ("首都は東京です。", "東京"),
    ("เมืองหลวงคือกรุงเทพครับ", "กรุงเทพ"),
    ("환불은14일걸립니다.", "14일"),
    ("**14** days", "14 days"),
    ("14&nbsp;days", "14 days"),
    ("１４ days", "14 days"),
    ("1990–1995", "1990-1995"),
    ("mostly nitrogen12, with", "nitrogen"),
    ("the third of November, 2026", "3 November 2026"),
    ("24.11.03(일)까지", "2024년 11월 3일"),
    ("0.5 g per tablet", "500 milligrams"),
    ("26.2 miles", "42.195 km"),
    ("약 25.4평", "84㎡"),
    ("twelve hundred dollars", "$1,200"),
    ("a fine of €1,500", "EUR 1.500,00"),
    ("~~14~~ 20 days", "20 days"),
    ("the CFO", "CFO"),
]
NOT_GIVEN = [
    ("She got a B.", "A"),
    ("A person got it", "A"),
    ("Vitamin B helps.", "Vitamin A"),
    ("They plan a party for Bo", "Plan A"),
    ("Please tell us more", "US"),
    ("It is the sales department.", "IT"),
    ("there is no fee in Oslo", "NO"),
    ("It is written in C.", "C++"),
    ("It is written in C++.", "C"),
    ("It is written in C++.", "C#"),
    ("1+ 등급", "1++"),
    ("1++ 등급", "1+"),
    ("the net is down", ".NET"),
    ("by force", "--force"),
    ("The exponent is 5.", "-5"),
    ("He sent 👎.", "👍"),
    ("退款需要14天。", "4天"),
    ("환불은14일걸립니다.", "4일"),
    ("~~14 days~~ 20 days", "14 days"),
    ("Cabin bags up to 10 lb", "10 kg"),
    ("as shown in Table 12", "12"),
    ("about 10² of them", "102"),
    ("application.log", "app.log"),
]


def test_an_answer_gives_a_reference_in_another_form_but_keeps_what_distinguishes_it() -> None:
    assert [each for each in GIVEN if not gives(each[0], [each[1]])] == []
    assert [each for each in NOT_GIVEN if gives(each[0], [each[1]])] == []


def test_a_reference_is_not_given_by_another_one_of_the_data_set() -> None:
    distinctions = find_distinctions(["The Who", "Who", "1억", "Straße", "strasse", "  "])
    assert gives("The Who", ["The Who"], distinctions) and gives("It is Who.", ["Who"], distinctions)
    assert gives("It is Who.", ["The Who"]) and not gives("It is Who.", ["The Who"], distinctions)
    assert not gives("strasse", ["Straße"], distinctions)
    assert gives("100,000,000", ["1억"], distinctions)  # no reference is written so


LETTERS = st.text(
    st.sampled_from("abcXYZ 019.,-+#½👍가나다라 은는東京のไทยहिंд ёА١٢éü'()&/:%$€*_`<>|~"), min_size=1, max_size=10
)
REFERENCE = (st.text(min_size=1, max_size=12) | LETTERS).filter(lambda text: text.strip() != "")
WRAPPED = ("{}", "**{}**", "“{}”", "({})", "{}.", "`{}`", "*{}*", "The answer is {}.", "답은 {}입니다.")


@given(REFERENCE, st.sampled_from(WRAPPED))
def test_a_reference_is_given_by_itself_whatever_stands_around_it(reference: str, wrapped: str) -> None:
    assert gives(wrapped.format(reference), [reference])


@given(st.lists(REFERENCE, min_size=2, max_size=3, unique=True))
def test_a_reference_is_found_in_another_one_only_as_it_is_written(references: list[str]) -> None:
    distinctions = find_distinctions(references)
    for one in references:
        assert all(is_written(other, one) for other in references if other != one and gives(other, [one], distinctions))
