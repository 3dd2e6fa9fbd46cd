import re
import string

from runner.report.english import ENGLISH
from runner.report.english_models import ENGLISH_MODELS
from runner.report.wording import LANGUAGES, wording_of

IN_ENGLISH, IN_KOREAN = LANGUAGES["en"].texts, LANGUAGES["ko"].texts


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_say_the_same_things() -> None:
    assert IN_ENGLISH.keys() == IN_KOREAN.keys()
    for key, text in IN_ENGLISH.items():
        assert placeholders(text) == placeholders(IN_KOREAN[key]), key


def test_a_key_stands_in_one_place() -> None:
    assert not ENGLISH.keys() & ENGLISH_MODELS.keys()


def test_korean_sentences_are_korean() -> None:
    """Values to be filled in, symbols and terms that have no Korean name need no Hangul."""
    said = {key: re.sub(r"\{\w+\}", "", text) for key, text in IN_KOREAN.items()}
    words = {key for key, text in said.items() if re.search(r"[A-Za-z]{3,} [A-Za-z]{3,}", text)}
    assert {key for key in words if not re.search("[가-힣]", said[key])} == {"metric.hit_rate"}


def test_no_particle_hangs_on_what_is_filled_in() -> None:
    """은 or 는, 이 or 가 …: which one it is can only be told of a word that is known."""
    choices = re.compile(
        r"\}(?:은|는|이|가|을|를|과|와|으로|로)(?![가-힣])|(?:은\(는\)|이\(가\)|을\(를\)|이/가|은/는|을/를)"
    )
    assert [key for key, text in IN_KOREAN.items() if choices.search(text)] == []


def test_the_language_is_configured() -> None:
    assert wording_of({"config": {"report": {"language": "ko"}}}) is LANGUAGES["ko"]
    assert wording_of({}) is LANGUAGES["en"]


def test_a_category_without_a_word_stands_for_itself() -> None:
    assert LANGUAGES["en"].name("lost_at", "not_retrieved") == "not retrieved"
    assert LANGUAGES["en"].name("lost_at", "on_the_moon") == "on_the_moon"
