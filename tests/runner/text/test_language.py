import pytest

from runner.text.language import detect_language, differ_in_language, other_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("환불은 며칠 이내에 가능한가요?", "ko"),
        ("How long do refunds take?", "en"),
        ("Docker에서 volume을 mount하는 방법", "ko"),
        ("BM25란?", "ko"),
        ("The Beatles 노래 추천", "ko"),
        ("What does 안녕 mean?", "en"),
        ("What is the meaning of 데이터베이스?", "en"),
        ("ㅋㅋㅋ", "ko"),
        ("", "en"),
        ("12345", "en"),
    ],
)
def test_language(text, language):
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "de",
            [
                "Wie lange dauert die Lieferung nach Österreich?",
                "Der Kunde kann den Vertrag mit einer Frist von 14 Tagen kündigen.",
            ],
        ),
        (
            "fr",
            ["Quels sont les frais de livraison pour la Corse ?", "Le remboursement est possible dans les 14 jours."],
        ),
        (
            "es",
            ["¿Cuáles son los plazos de entrega para las islas?", "La devolución es gratuita en los primeros 14 días."],
        ),
        ("it", ["Quali sono i costi di spedizione per la Sicilia e la Sardegna? È incluso il reso?"]),
        ("pt", ["Os pedidos são enviados em até dois dias e não é cobrada uma taxa."]),
        ("nl", ["Hoe lang duurt het voor een bestelling naar België wordt verzonden?"]),
        ("ja", ["返品は14日以内に可能です。", "サーバーを再起動する方法は?"]),
        ("zh", ["退货在14天内可以。"]),
        ("ru", ["Возврат возможен в течение 14 дней."]),
        ("th", ["คืนสินค้าได้ภายใน 14 วัน"]),
    ],
)
def test_other_languages(language, texts):
    assert [other_language(text) for text in texts] == [language] * len(texts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "14",
        "Berlin",
        "Come in person, per the notice.",
        "To do: I go to the shop and do it.",
        "Who wrote Die Zeit and Der Spiegel, and is it an old paper?",
        "The Rue de la Paix is in Paris.",
        "Contact us at help@mail.com or www.site.com.",
        "Der Spiegel과 Die Zeit 중 무엇인가요?",
        "학교는 東京에 있습니다.",
    ],
)
def test_korean_and_english_are_no_other_language(text):
    assert other_language(text) is None


@pytest.mark.parametrize(
    ("text", "others", "differs"),
    [
        ("A refund is paid to the card within 14 days.", ["환불은 14일 안에 카드로 지급됩니다."], True),
        ("환불은 14일 안에 카드로 지급됩니다.", ["A refund is paid to the card."], True),
        ("A refund is paid.", ["환불은 카드로 지급됩니다.", "The refund is paid to the card."], False),
        ("Shipping costs 4 dollars.", ["배송비는 4달러입니다."], True),
        ("Michael J. Fox", ["주연은 마이클 제이 폭스입니다."], False),
        ("BERT", ["이 모델은 트랜스포머를 씁니다."], False),
        ("14", ["환불은 14일 안에 지급됩니다."], False),
        ("The card is free.", [], False),
    ],
)
def test_a_sentence_in_another_language_cannot_be_compared_by_words(text, others, differs):
    assert differ_in_language(text, others) is differs
