"""What a report says of conversational memory, in Korean."""
# ruff: noqa: E501

KOREAN_MEMORY: dict[str, str] = {
    "stage.append": "턴 저장",
    "stage.update": "메모리 갱신",
    "stage.read": "메모리 읽기",
    "memory.patched": "{metric} (정정된 라벨)",
    "memory.title": "메모리",
    "memory.retention": "사실이 얼마나 오래 남는가",
    "memory.turns": "말한 뒤 지난 턴 수",
    "memory.updates": "말한 뒤 갱신 횟수",
    "memory.facts": "물어본 사실 수",
    "memory.share": "남아 있는 비율",
    "memory.interval": "95% 구간",
    "memory.explain": "질문에 필요한 사실 가운데 컨텍스트에 남아 있는 비율을, 그 사실을 말한(마지막으로 바뀐) 뒤 지난 턴 수와 갱신 횟수에 따라 나눈 것입니다. 구간은 윌슨 구간이며, 한 대화의 사실들이 서로 독립이라고 봅니다.",
    "memory.section": "구역",
    "memory.tokens": "평균 토큰 수",
    "memory.budget": "예산",
    "memory.cut": "일부가 잘린 질문 수",
    "memory.no_budget": "없음",
    "memory.used": "컨텍스트 구성",
    "memory.upkeep": "저장한 턴 {appends}개, 요약 갱신 {updates}회, 한도를 넘어 코드로 자른 요약 {violations}회, 실패한 갱신 {failures}회(해당 턴은 다음 갱신까지 보관).",
    "memory.panel": "말한 뒤 지난 턴 수에 따라 남아 있는 사실",
    "context.memory": "요약",
    "context.entities": "엔티티",
    "context.recent": "최근 턴",
    "context.retrieved": "검색된 턴",
}
