"""What a report says of conversational memory, in English."""
# ruff: noqa: E501

ENGLISH_MEMORY: dict[str, str] = {
    "stage.append": "keeping a turn",
    "stage.update": "updating the memory",
    "stage.read": "reading the memory",
    "memory.patched": "{metric} (corrected labels)",
    "memory.title": "Memory",
    "memory.retention": "How long facts are kept",
    "memory.turns": "Turns since it was said",
    "memory.updates": "Updates since it was said",
    "memory.facts": "Facts asked for",
    "memory.share": "Still shown",
    "memory.interval": "95% interval",
    "memory.explain": "Share of the facts that a probe asks for which the context shows, by what has passed since each was said (the last time it changed). Wilson intervals, which take the facts of one conversation for independent.",
    "memory.section": "Section",
    "memory.tokens": "Tokens (mean)",
    "memory.budget": "Budget",
    "memory.cut": "Probes with something cut",
    "memory.no_budget": "none",
    "memory.used": "What the context was made of",
    "memory.upkeep": "{appends} turns kept, {updates} updates of summaries, {violations} summaries over a bound and cut by code, {failures} updates failed (their turns were kept for the next).",
    "memory.panel": "Facts still shown, by turns since they were said",
    "context.memory": "summary",
    "context.entities": "entities",
    "context.recent": "recent turns",
    "context.retrieved": "retrieved turns",
}
