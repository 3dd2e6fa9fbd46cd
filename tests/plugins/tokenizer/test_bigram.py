from plugins.tokenizer.bigram import BigramTokenizer


def test_korean_pairs_english_words_as_they_are() -> None:
    assert BigramTokenizer().tokenize(["환불 규정", "Refund policies"]) == [["환불", "규정"], ["refund", "policies"]]
