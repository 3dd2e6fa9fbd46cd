"""Words by which to tell what a sentence is for, as patterns."""

from __future__ import annotations

from runner.domains.memory.extraction.facts import any_of

REQUESTS_EN = any_of(
    """
    ignore, forget, remember, give, tell, show, write, print, output, repeat, reply, answer, say, note,
    pretend, act, set, make, put, add, remind, send, list, explain, describe, analy[sz]e, compare,
    summari[sz]e, help, do not, don['’]t
    """
)
REQUESTS_KO = any_of(
    r"""
    [해아어여와워줘]\s?줘, 줘, 주세요, 주십시오, 하세요, 으세요, 십시오, 부탁\S*, 하자, 보자, 가자, 합시다,
    할 것, 말 것, 하라, 해라, 달라
    """
)
STANDING = any_of(  # asked for once and for all
    """
    always, never, from now on, keep, every time, in future, whenever, 앞으로, 항상, 계속, 절대, 매번, 언제나,
    이제부터
    """
)
MATTERS_EN = any_of(  # preferences, decisions, plans, rules, changes
    """
    prefer, like, love, hate, enjoy, favou?rite, allergic, allergy, vegetarian, vegan, agreed, decided,
    decision, plan(?:ned|ning)? to, going to, want, need, must, always, never, only, every, deadline,
    important, from now on, keep, switch(?:ed)?, moved?, changed?, stopped, started, no longer, any ?more
    """
)
MATTERS_KO = any_of(
    """
    좋아, 싫어, 선호, 합의, 정했, 결정, 하기로, 계획, 원해, 원합, 필요, 항상, 앞으로, 계속, 절대, 매일, 매주,
    매달, 마다, 중요, 알레르기, 채식, 못 먹, 예정, 싶, 그만, 더 이상, 바꿨, 옮겼, 맡기로
    """
)
UNSURE_EN = any_of(  # conditions, offers, proposals
    """
    if, would, could, should, may, might, can, let us, let me, let['’]s, i will, i['’]ll, i can, you, perhaps,
    maybe, then, try, consider
    """
)
UNSURE_KO = any_of("겠, 까요, 시죠, 세요, 게요, 으면, 라면, 이면, 다면, 좋을, 수 있, 보시, 볼게, 드릴")
