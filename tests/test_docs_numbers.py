"""Numbers that the documentation gives in its sentences are those of the code, in both languages."""

from collections.abc import Callable

import pytest

from runner.domains.links.reasons import link_controls
from runner.domains.memory.controls import memory_controls
from runner.llm.controls import controls
from runner.llm.retry import Patience
from runner.metrics import paired, statistics
from runner.metrics.memory import WEIGHTS
from runner.retrieval import searching
from tests.docs.pages import all_text

ENGLISH, KOREAN = (all_text(language) for language in ("en", "ko"))
COUNTED = {10: ("ten", "열"), 6: ("six", "여섯"), 5: ("five", "5")}


def of_weights(name: str) -> str:
    return f"{WEIGHTS[name]:.2f}".removeprefix("0")


NUMBERS: dict[str, Callable[[], tuple[str, str]]] = {
    "intervals": lambda: (
        f"bootstrap intervals with {statistics.RESAMPLES:,} resamples over cases",
        f"사례를 {statistics.RESAMPLES:,}번 재표집한 부트스트랩",
    ),
    "few pairs": lambda: (
        f"fewer than {COUNTED[paired.FEWEST][0]} pairs",
        f"짝이 {COUNTED[paired.FEWEST][1]} 쌍보다 적거나",
    ),
    "searches on the clock": lambda: (
        f"up to {searching.PROBE:,} queries searched one at a time",
        f"검색한 질의 {searching.PROBE:,}개까지",
    ),
    "searches that ask": lambda: (
        f"up to {searching.ASKING_PROBE}, and from up to {searching.AGENT_PROBE} where an agent",
        f"{searching.ASKING_PROBE}개까지, 에이전트가 모델에 물으면 {searching.AGENT_PROBE}개까지",
    ),
    "attempts": lambda: (
        f"is asked up to {COUNTED[Patience().attempts][0]} times",
        f"모두 {COUNTED[Patience().attempts][1]} 번까지 묻고",
    ),
    "throttled": lambda: (
        f"nothing else for {COUNTED[int(Patience().throttled_s / 60)][0]} minutes",
        f"서버가 {COUNTED[int(Patience().throttled_s / 60)][1]}분 동안",
    ),
    "controls": lambda: (f"judges {len(controls())} control answers", f"대조 문항 {len(controls())}개"),
    "controls of memories and links": lambda: (
        f"memories have {len(memory_controls())} controls of their own, reasons of links {len(link_controls().items)}",
        f"메모리에는 따로 {len(memory_controls())}개, 링크의 이유에는 {len(link_controls().items)}개",
    ),
    "quality of a memory": lambda: (
        f"10 ({of_weights('relevance')} relevance + {of_weights('completeness')} completeness"
        f" + {of_weights('accuracy')} accuracy + {of_weights('noise')} (10 - noise))",
        f"10 × ({of_weights('relevance')} 관련성 + {of_weights('completeness')} 완전성"
        f" + {of_weights('accuracy')} 정확성 + {of_weights('noise')} (10 − 노이즈))",
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_in_sentences(name: str) -> None:
    english, korean = NUMBERS[name]()
    assert english in ENGLISH
    assert korean in KOREAN
