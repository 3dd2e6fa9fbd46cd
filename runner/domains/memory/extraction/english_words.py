"""Words by which English tells what is said of what, as patterns."""

from __future__ import annotations

from runner.domains.memory.extraction.facts import any_of

OPENINGS = any_of(
    r"""
    by the way, actually, also, and, but, so, oh, ok(?:ay)?, well, yes, no, right, sure, thanks, thank you,
    update, hello, correction, fyi, just so you know, as of (?:now|today), from now on, for the record,
    in fact, meanwhile, good news, bad news, sorry, hi, note that, please note that, remember that,
    it turns out(?: that)?, i hear(?:d)?(?: that)?, i (?:think|believe|guess|checked|counted)(?: that)?, today,
    yesterday, this (?:morning|week), now, then, finally, at the moment, in the meantime, for now, right now,
    change of plans?, at present
    """
)
CONJUNCTIONS = any_of("because, although, though, since, so that, so, while, whereas")
SUBJECTS = any_of(
    r"""
    we, i, you, he, she, it, they, the, our, my, your, his, her, their, this, that, there, which, who, please,
    so, followed, i['’]m, it['’]s, that['’]s, not \w+ed
    """
)
DETERMINERS = any_of("the, our, my, this, that, its, his, her, their, your, an?, most of (?:the|our), all (?:the|our)")
BE = any_of("is, are, was, were, will be, shall be, has been, have been, becomes, became, remains, equals, means")
AUXILIARIES = any_of(
    """
    has, have, had, was, were, is, are, be, been, being, got, gets, will, would, must, should, can, may, to,
    going, decided, agreed, wants?, needs?, am
    """
)
ADVERBS = any_of(
    """
    now, currently, still, also, already, just, recently, finally, officially, again, once more, once again,
    back, up, down, out, further, only, actually, mostly, all, then, always, probably, instead, over, off,
    forward, slightly, today, yesterday, later, since, even, got
    """
)
CHANGED = any_of(
    """
    raised, cut, increased, decreased, grown, grew, risen, rose, gone, went, slipped, slid, moved, changed,
    shifted, postponed, pushed, brought, delayed, reduced, lowered, dropped, fallen, fell, updated, revised,
    set, extended, shortened, renamed, switched, bumped, shrunk, shrank, expanded, adjusted, corrected,
    rescheduled, upgraded, downgraded, transferred, relocated, promoted, trimmed, boosted, climbed, jumped,
    improved, reassigned, handed, converted, migrated, fixed, put, settled
    """
)
CHANGE = any_of(
    """
    raise, cut, increase, decrease, move, change, shift, postpone, push, bring, delay, reduce, lower, update,
    revise, set, extend, shorten, rename, switch, bump, expand, adjust, correct, reschedule, upgrade,
    downgrade, transfer, relocate, migrate, drop, put, fix
    """
)
HAVE = any_of("have, got, own, use, bought, hired, need, ordered, run, employ, lead, manage, booked")
PARTICIPLES = any_of(
    r"\w+(?:ed|en|wn|ne), kept, held, led, run, made, built, paid, sent, set, cut, due, based, located"
)
VERBS = any_of(
    """
    be, is, are, was, were, has, have, costs?, takes?, accounts?, goes, lasts?, weighs?, starts?, ends?,
    opens?, closes?, uses?, runs?, needs?, holds?, contains?, covers?, makes?, earns?, pays?, expires?,
    arrives?, leaves?, begins?, happens?, measures?, meets?, serves?, departs?, rose, went, gone, grew,
    belongs?, reports?, comes?, stands?, amounts?
    """
)
OF_ONESELF = (
    ("home", r"(?:living|live|relocat(?:ed|ing)|mov(?:ed|ing))\s+(?:from\s+(?P<old>.+?)\s+)?(?:in|to)\s+(?P<value>.+)"),
    ("employer", r"work(?:ing|ed)?\s+(?:at|for)\s+(?P<value>.+)"),
    ("employer", r"join(?:ed|ing)\s+(?P<value>[A-Z].+)"),
    ("job", r"work(?:ing)?\s+as\s+(?P<value>.+)"),
    ("hometown", r"(?:come\s+)?(?:originally\s+)?from\s+(?P<value>[A-Z].+)"),
    ("age", r"(?:turned\s+)?(?P<value>\d{1,3})(?:\s+years?\s+old)?"),
    ("name", r"(?:(?:called|named)\s+|(?<=call me )|(?<=Call me ))(?P<value>[A-Z].+)"),
)
NO_KEYS = any_of(
    """
    i, we, you, he, she, it, they, there, here, what, which, who, how, why, where, when, everything, nothing,
    something, everyone, nobody, one, someone, both, none, let, if, as, at, in, on, to, for, not, with, by,
    after, before, from, than, then, check, because, whether, please, ignore, forget, remember
    """
)
NO_KEY_ENDS = any_of("there, that, who, which, if, would, could, should, may, might, not")
TRAILING = any_of(
    rf"""
    {ADVERBS[3:-1].replace("|", ", ")}, for now, as of (?:today|now), at the moment, right now, please,
    by the way, too, i (?:hear|think|guess|believe), this time, from now on, as well, after all, so far,
    in all, in total
    """
)
SMALL_TALK = any_of(  # values that are gone tomorrow
    """
    lovely, packed, comfortable, nice, great, good, bad, fine, ok, okay, tired, cold, hot, warm, busy, late, early,
    long, short, quiet, loud, noisy, delicious, tasty, awful, terrible, wonderful, beautiful, boring, funny, fun,
    interesting, strange, odd, crowded, full, empty, slow, sunny, rainy, cloudy, windy, over, done, here, there, off,
    true, right, wrong
    """
)
