"""A stand-in for your service: it searches corpus.jsonl by words, and answers with the best sentence.

The evaluation calls `answer`. `python service.py` serves the same over HTTP at http://127.0.0.1:9000/ask: send
{"question": …}.
"""

import json
import re
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).with_name("corpus.jsonl")
LEAST = 0.2  # share of a question that a sentence has to hold


def words(text: str) -> set[str]:
    """Whole words of English; pairs of letters of Korean, whose words change their endings."""
    parts = re.findall(r"\w+", text.lower())
    pairs = (part[at : at + 2] for part in parts if not part.isascii() for at in range(len(part) - 1))
    return {part.removesuffix("s") for part in parts if part.isascii()} | set(pairs)


DOCUMENTS = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines() if line.strip()]
SENTENCES = [(doc, part) for doc in DOCUMENTS for part in re.split(r"(?<=[.!?])\s+", doc["text"]) if part]
FREQUENCY = Counter(word for _, sentence in SENTENCES for word in words(sentence))


def answer(question: str) -> dict[str, Any]:
    """`contexts`: the sources of the answer, with ids that are compared with `expected_notes`."""
    weights = {word: 1 / (1 + FREQUENCY[word]) for word in words(question)}

    def share(sentence: str) -> float:
        return sum(weights[word] for word in weights.keys() & words(sentence)) / max(sum(weights.values()), 1e-9)

    best, document, sentence = max(((share(part), doc, part) for doc, part in SENTENCES), key=lambda found: found[0])
    if best < LEAST:
        nothing = "I could not find this in the documents." if question.isascii() else "문서에 해당 내용이 없습니다."
        return {"answer": nothing, "contexts": []}
    return {"answer": sentence, "contexts": [{"id": document["id"], "text": document["text"], "score": best}]}


class Handler(BaseHTTPRequestHandler):
    """Answers POST requests with JSON, as `answer` above says."""

    def do_POST(self) -> None:
        """Answer one question."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(answer(asked["question"]), ensure_ascii=False).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 9000), Handler).serve_forever()
