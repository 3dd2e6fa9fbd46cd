"""What report.html says beyond summary.md, in Korean, one sentence a line."""
# ruff: noqa: E501

KOREAN_HTML: dict[str, str] = {
    "html.contents": "목차",
    "html.more": "설정, 버전, 명령",
    "html.retrieval": "검색",
    "html.own": "이 평가의 메트릭",
    "html.depth": "컷오프와 구성 요소별 결과",
    "html.questions": "전체 질문",
    "html.right": "맞음",
    "html.case": "사례",
    "html.retrieved": "검색 결과와 관련도 0~1 (✓ 정답 문서, 상위 {k}개가 컨텍스트)",
    "html.contexts": "생성기에 준 컨텍스트 (굵은 글씨: 인용됨)",
    "html.runs": "실행",
    "html.against": "{x}에 따른 메트릭",
    # the table of cases
    "html.cases": "사례",
    "html.cases.explain": "나쁜 사례부터 표시합니다. 실패한 질문이 먼저 오고, 그다음은 점수 평균 순입니다. 행을 누르면 그 사례의 모든 내용을 볼 수 있습니다.",
    "html.cases.listed": "사례 {n}개 중 가장 나쁜 {listed}개만 표시합니다. 전체는 per_item.jsonl에 있습니다.",
    "html.cases.detailed": "답변, 컨텍스트, 판정은 나쁜 순서로 사례 {detailed}개만 이 파일에 담았습니다. 나머지는 per_item.jsonl에 있습니다.",
    "html.cases.text": "id나 질문에 든 단어",
    "html.cases.outcome": "성공 여부",
    "html.cases.language": "언어",
    "html.cases.change": "기준과 비교",
    "html.cases.all": "전체",
    "html.cases.failing": "실패",
    "html.cases.more": "자세히",
    "html.cases.range": "{n}개 중 {from}–{to}",
    "html.cases.nothing": "조건에 맞는 사례가 없습니다.",
    "html.cases.no_details": "이 사례의 나머지 내용은 per_item.jsonl에 있습니다.",
    "html.cases.previous": "이전",
    "html.cases.next": "다음",
}
