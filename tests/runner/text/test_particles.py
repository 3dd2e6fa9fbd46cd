import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.particles import with_particles


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("예산[은/는] 1억[이에요/예요].", "예산은 1억이에요."),
        ("비용[은/는] 50만 원[이에요/예요].", "비용은 50만 원이에요."),
        ("커버리지[을/를] 60%[으로/로] 올렸어요.", "커버리지를 60%로 올렸어요."),
        ("출시일[이/가] 5월 20일[으로/로] 밀렸어요.", "출시일이 5월 20일로 밀렸어요."),  # ㄹ takes 로
        ("일행[이/가] 8명[으로/로] 늘었어요.", "일행이 8명으로 늘었어요."),
        ("AWS[은/는] S3[과/와]", "AWS는 S3과"),  # 에스, 삼
        ("SQL[으로/로] URL[이/가]", "SQL로 URL이"),  # 엘
        (
            "코드 HB-4470[이에요/예요], HB-4471[으로/로], HB-4472[이에요/예요]",
            "코드 HB-4470이에요, HB-4471로, HB-4472예요",
        ),
        ("13[으로/로] 16[으로/로] 17[으로/로] 18[으로/로] 19[으로/로]", "13으로 16으로 17로 18로 19로"),
        ("'다온'[을/를] \"서버\"[을/를] 골랐어요", "'다온'을 \"서버\"를 골랐어요"),  # quotes are not read aloud
        ("회의[이군요/군요] 목록[이군요/군요]", "회의군요 목록이군요"),
        ("no choice here", "no choice here"),
        ("", ""),
    ],
)
def test_the_form_fits_the_word_before(text: str, expected: str) -> None:
    assert with_particles(text) == expected


@given(st.characters(min_codepoint=ord("가"), max_codepoint=ord("힣")))
def test_every_syllable_is_read_by_its_final_consonant(syllable: str) -> None:
    final = (ord(syllable) - ord("가")) % 28
    expected = "로" if final in (0, 8) else "으로"
    assert with_particles(f"{syllable}[으로/로]") == syllable + expected
    assert with_particles(f"{syllable}[은/는]") == syllable + ("은" if final else "는")
