from plugins.tokenizer.word import WordTokenizer


def test_words_of_both_languages() -> None:
    assert WordTokenizer().tokenize(["환불규정은 3일", ""]) == [["환불규정은", "3일"], []]
