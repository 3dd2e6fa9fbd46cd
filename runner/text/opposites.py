"""Words that turn a sentence into another statement: opposites, quantifiers, and exchanged roles.

Opposites that describe one event from both ends are left out ("A sold it to B" and "B bought it from A" agree; so do
before and after, parent and child, win and lose).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from runner.text.words import FUNCTION_WORDS, Word, all_forms, content_words, english_stem, particle, words

_ENGLISH = """
increase:decrease,decline,reduce,drop,fall,shrink  rise:decrease,decline,drop,fall,sink  grow:decrease,decline,shrink
gain:loss,lose  high:low  large:small,little,tiny  big:small,little,tiny  long:short,brief  tall:short
old:new,young,modern  ancient:modern,new  early:late  good:bad,poor  positive:negative  success:failure
successful:unsuccessful  succeed:fail  accept:reject,refuse,decline  allow:forbid,prohibit,ban,prevent
permit:forbid,prohibit,ban  include:exclude,omit  enable:disable,prevent  open:close,shut  start:end,finish,stop
begin:end,finish,stop  first:last,second,third  internal:external  inside:outside  inner:outer  indoor:outdoor
north:south  northern:southern  east:west  eastern:western  upper:lower  top:bottom  front:back,rear  male:female
man:woman  boy:girl  father:mother  son:daughter  brother:sister  husband:wife  alive:dead  birth:death  born:die
day:night  morning:evening,afternoon  hot:cold,cool  warm:cold,cool
wet:dry  light:dark,heavy  strong:weak  hard:soft,easy  fast:slow  quick:slow  cheap:expensive,costly  rich:poor
easy:difficult,hard  simple:complex,complicated  safe:dangerous,unsafe  public:private  domestic:foreign
maximum:minimum  major:minor  majority:minority  legal:illegal  lawful:unlawful  possible:impossible
free:paid,charge  permanent:temporary  mandatory:optional,voluntary  required:optional  compulsory:optional,voluntary
full:empty,partial  fully:partly,partially  online:offline  support:oppose  agree:disagree  love:hate  like:dislike
arrive:depart,leave  enter:exit,leave  approve:reject,deny  confirm:deny  admit:deny  encourage:discourage
appear:disappear  connect:disconnect  known:unknown  active:inactive  complete:incomplete,partial  common:rare
always:never,sometimes,rarely  often:rarely,seldom,never  guilty:innocent  wide:narrow  deep:shallow  thick:thin
near:far  close:far  married:single,divorced  urban:rural  natural:artificial  summer:winter  spring:autumn,fall
significant:insignificant  important:unimportant  able:unable  capable:incapable  associated:disassociated
manual:automatic  manually:automatically  fixed:variable  direct:indirect  directly:indirectly  visible:hidden,invisible
popular:unpopular  famous:unknown  happy:sad,unhappy  clean:dirty  quiet:loud,noisy  raise:lower,reduce  add:remove
install:uninstall,remove  create:delete,destroy  build:destroy,demolish  sufficient:insufficient  enough:insufficient
fiction:nonfiction  amateur:professional  ally:enemy  friend:enemy  hero:villain  asset:liability  profit:loss
"""
_KOREAN = """
높:낮  높이:낮추  높아지:낮아지  많:적  늘:줄  늘리:줄이  늘어나:줄어들  늘어:줄어  증가:감소  상승:하락,하강
오르:내리,떨어지  오른:내린,떨어진  올랐:내렸,떨어졌  급등:급락  확대:축소  강화:완화,약화  크:작  커지:작아지  길:짧
빠르:느리  빨라지:느려지  비싸:싸,저렴  비싼:싼,저렴한  유료:무료  유상:무상  찬성:반대  동의:거부,반대  수락:거절
승낙:거절  승인:거부,반려,거절  허용:금지  허가:금지,불허  가능:불가능,불가  포함:제외  내부:외부  안쪽:바깥쪽  앞:뒤
위:아래  위쪽:아래쪽  처음:마지막  첫:마지막  시작:끝,종료  개시:종료  개장:폐장,폐쇄  개막:폐막  개업:폐업  입장:퇴장
입학:졸업,퇴학  입국:출국  입금:출금  수입:수출  합격:불합격,탈락  성공:실패  승리:패배  남부:북부  남쪽:북쪽
동부:서부  동쪽:서쪽  남성:여성  남자:여자  아버지:어머니  아들:딸  남편:아내  최대:최소  최고:최저,최악  최선:최악
최초:마지막  상위:하위  상한:하한  이상:이하,미만  초과:미만,이하  전체:일부  전면:부분,일부  전부:일부  전액:일부
모두:일부  모든:일부  대부분:일부  공개:비공개  공식:비공식  정규:비정규  정규직:비정규직,계약직  직접:간접
국내:국외,해외  오전:오후  아침:저녁  낮:밤  주말:평일  주중:주말  여름:겨울  봄:가을  어제:내일  작년:올해,내년
올해:작년,내년  이번:다음,지난  다음:지난  좋:나쁘,싫  좋아지:나빠지  쉽:어렵  쉬운:어려운  쉬우:어려우  쉬워:어려워
넓:좁,비좁  무겁:가볍  강하:약하  강:약  깨끗:더럽,지저분  안전:위험  편리:불편  편하:불편하  편안:불편
만족:불만,불만족,실망  행복:불행  친절:불친절  가깝:멀  가까우:멀  가까웠:멀었  뜨겁:차갑  덥:춥  밝:어둡  젊:늙
출생:사망  태어나:사망하  생존:사망  살:죽  결혼:이혼  취임:퇴임,사임  입사:퇴사  채용:해고  의무:선택,자율  필수:선택
자동:수동  온라인:오프라인  실내:실외,야외  단체:개인  공공:민간  도시:농촌  붐비:한적  혼잡:한산,한적  충분:부족
넉넉:부족  풍부:부족  평범:비범,특별  상향:하향  인상:인하  흑자:적자  이익:손실,손해  찬:따뜻한  활성:비활성
유효:무효  유죄:무죄  합법:불법  정상:비정상  긍정:부정  낙관:비관  적극:소극  진짜:가짜  사실:거짓  급증:급감
순증:순감  가입:탈퇴  등록:해지,취소  설치:제거,삭제  추가:삭제,제거  저장:삭제  연결:차단,해제  켜:끄  열:닫
개방:폐쇄  공격:수비,방어  증설:감축  신설:폐지  도입:폐지
"""


# Korean words and particles that are no content words, and what says as much in a source.
_QUANTIFIERS = [
    (re.compile(said), re.compile(held))
    for said, held in {
        r"(?<![가-힣])모든(?![가-힣])": r"모든|모두|전부|전체|항상|언제나|누구나|전원|각|(?<![가-힣])다(?![가-힣])",
        r"(?<![가-힣])가장(?![가-힣])": r"가장|제일|최[고대다초저소신상우]",
        r"(?<![가-힣])더(?![가-힣])": r"(?<![가-힣])더|보다(?![가-힣])|추가",
        r"(?<=[가-힣])(?:뿐|밖에)(?![가-힣])|(?<=[가-힣]{2})(?<![지불수몇십백천])만(?:이|은|의)?(?![가-힣])": (
            r"뿐|밖에|(?<=[가-힣])만(?![가-힣]*원)|오직|단지|유일|한정|전용"
        ),
    }.items()
]
_THAN = re.compile(r"([가-힣]+)보다(?![가-힣])|\bthan\s+(?:an?\s+|the\s+)?([A-Za-z]+)")
_NAMES = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")
_BOTH_WAYS = frozenset(
    ["and", "or", "with", "meet", "marry", "merg", "equal", "resembl", "differ", "vs", "near", "plus"]
)
_PASSIVE = re.compile(r"받|당하|당했|당한|에 ?의해")
_SUBJECT, _OBJECT = frozenset({"은", "이"}), frozenset({"을", "에게"})


def _opposites(table: str) -> Iterator[tuple[str, str]]:
    for entry in table.split():
        first, others = entry.split(":")
        for other in others.split(","):
            yield from ((first, other), (other, first))


def _table() -> Mapping[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    english = ((english_stem(word), english_stem(other)) for word, other in _opposites(_ENGLISH))
    for word, other in (*english, *_opposites(_KOREAN)):
        table.setdefault(word, set()).add(other)
    return {word: frozenset(others) for word, others in table.items()}


_OPPOSITES = _table()


def opposites(word: Word) -> frozenset[str]:
    """The forms of words with the opposite meaning."""
    return frozenset().union(*(_OPPOSITES.get(form, ()) for form in word.forms))


def comparison_standard(text: str) -> str:
    """The words after `than` or before 보다: "A is dearer than B" and "B is cheaper than A" agree."""
    match = _THAN.search(text)
    return (match[1] or match[2]).lower() if match else ""


def unheld_quantifiers(claim: str, sources: str) -> list[str]:
    """Korean quantifiers of a claim (모든, 가장, -만) without a counterpart in the sources. English ones (all, only)
    had no effect on sentences that people labelled."""
    matches = ((pattern.search(claim), like) for pattern, like in _QUANTIFIERS)
    return [match[0] for match, like in matches if match and not like.search(sources)]


def exchanged_roles(claim: str, witness: str) -> tuple[str, str] | None:
    """Two words that have exchanged places: the agent and the one affected. None where both are placed as in the
    witness."""
    return _korean_exchange(claim, witness) or _english_exchange(claim, witness)


def _korean_exchange(claim: str, witness: str) -> tuple[str, str] | None:
    if bool(_PASSIVE.search(claim)) != bool(_PASSIVE.search(witness)):
        return None
    roles = [(word, particle(word.text)) for word in content_words(witness)]

    def roles_of(word: Word) -> set[str]:
        return {role for other, role in roles if not word.forms.isdisjoint(other.forms)}

    role_of_words = [(word, particle(word.text)) for word in content_words(claim)]
    subjects = [word for word, role in role_of_words if role in _SUBJECT and (old := roles_of(word)) and old <= _OBJECT]
    objects = [word for word, role in role_of_words if role in _OBJECT and (old := roles_of(word)) and old <= _SUBJECT]
    return (subjects[0].text, objects[0].text) if subjects and objects else None


def _english_exchange(claim: str, witness: str) -> tuple[str, str] | None:
    """Two names with the same words between them, the other way round."""
    witness_pairs = list(_between_names(witness))
    for first, between, second in _between_names(claim):
        stems = [english_stem(word.text) for word in between]
        if not stems or not _BOTH_WAYS.isdisjoint(stems) or not content_words(" ".join(word.text for word in between)):
            continue
        for left, others, right in witness_pairs:
            same = stems == [english_stem(word.text) for word in others]
            if same and _share_a_word(first, right) and _share_a_word(second, left) and not _share_a_word(first, left):
                return first, second
    return None


def _between_names(text: str) -> Iterator[tuple[str, Sequence[Word], str]]:
    """Each name with the one after it and the words between."""
    names = [match for match in _NAMES.finditer(text) if match[0].lower() not in FUNCTION_WORDS]
    for first, second in pairwise(names):
        yield first[0], words(text[first.end() : second.start()]), second[0]


def _share_a_word(first: str, second: str) -> bool:
    return not all_forms(words(first)).isdisjoint(all_forms(words(second)))
