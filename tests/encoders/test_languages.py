"""Sentences of other languages are noticed with the real tokenizer; English raises no alarm, nor do technical terms."""

from __future__ import annotations

import csv
import logging
from types import SimpleNamespace

import pytest
from benchmarks.harness.datasets import read_part

import newfound
from newfound.data.demo_corpus import load_demo, off_topic
from newfound.encoders.function_words import FUNCTION_WORDS
from newfound.encoders.languages import MULTILINGUAL_ENCODER, foreign_share, language_warning

real = pytest.mark.real_encoder

SENTENCES = {
    "German": """Ich möchte meine Rechnung bezahlen|Wann kommt der Techniker zu uns?|Mein Zähler zeigt nichts mehr an
        |Bitte kündigen Sie meinen Vertrag zum Monatsende|Warum ist der Abschlag so hoch?|Wo bleibt mein Geld?
        |Ich habe mein Passwort vergessen|Die Karte wurde eingezogen|Das Wasser ist seit heute früh braun
        |Ich ziehe nächste Woche um|Wie lese ich den Stromzähler ab?|Können Sie mich bitte zurückrufen?""",
    "Spanish": """Quiero pagar mi factura|¿Cuándo llega el técnico a mi casa?|He perdido mi tarjeta de crédito
        |No puedo entrar en mi cuenta|¿Por qué es tan alto el recibo?|Necesito cambiar la dirección de envío
        |¿Dónde está mi pedido?|Quiero cancelar el contrato|El agua sale marrón desde ayer
        |Me mudo la semana que viene|¿Cómo leo el contador de la luz?|Por favor, llámenme mañana""",
    "French": """Je voudrais payer ma facture|Quand est-ce que le technicien arrive ?|J'ai perdu ma carte bancaire
        |Je ne peux pas ouvrir mon compte|Pourquoi la facture est-elle si haute ?|Où est ma commande ?
        |Je veux résilier le contrat|L'eau est marron depuis hier|Je déménage la semaine prochaine
        |Comment lire le compteur ?|Rappelez-moi demain s'il vous plaît|Mon colis n'est pas arrivé""",
    "Polish": """Chcę zapłacić rachunek, jak to zrobić?|Kiedy przyjedzie do mnie technik?|Gdzie są moje pieniądze?
        |Dlaczego rachunek jest tak wysoki?|Gdzie jest moje zamówienie?|Woda od wczoraj jest brązowa
        |Jak odczytać licznik prądu?|Proszę do mnie zadzwonić|Czy mogę zmienić adres?|Zgubiłem kartę, co mam robić?
        |Ile to kosztuje?|Nie pamiętam hasła do konta""",
    "Chinese": """我想付账单|技术员什么时候来|我的银行卡丢了|怎么修改密码|水是棕色的|我下周搬家|电费为什么这么高
        |请给我回电话|我要取消合同|我的订单在哪里|怎么读电表|我忘记了密码""",
    "Russian": """Я хочу оплатить счёт|Когда придёт мастер?|Я потерял карту|Не могу войти в личный кабинет
        |Почему такой большой счёт?|Где мой заказ?|Хочу расторгнуть договор|Из крана идёт коричневая вода
        |На следующей неделе я переезжаю|Как снять показания счётчика?|Перезвоните мне, пожалуйста|Я забыл пароль""",
    "Arabic": """أريد دفع فاتورتي|متى يأتي الفني؟|لقد فقدت بطاقتي المصرفية|لا أستطيع الدخول إلى حسابي
        |لماذا الفاتورة مرتفعة؟|أين طلبي؟|أريد إلغاء العقد|الماء لونه بني منذ الأمس|سأنتقل الأسبوع القادم
        |كيف أقرأ عداد الكهرباء؟|من فضلك اتصل بي غدا|نسيت كلمة المرور""",
    "Hindi": """मैं अपना बिल भरना चाहता हूँ|तकनीशियन कब आएगा?|मेरा कार्ड खो गया है|मैं लॉगिन नहीं कर पा रहा हूँ
        |बिल इतना ज़्यादा क्यों है?|मेरा ऑर्डर कहाँ है?|मैं अनुबंध रद्द करना चाहता हूँ|पानी कल से भूरा आ रहा है
        |मैं अगले हफ्ते घर बदल रहा हूँ|बिजली का मीटर कैसे पढ़ें?|कृपया मुझे वापस फोन करें|मैं पासवर्ड भूल गया""",
}
SENTENCES = {language: [text.strip() for text in texts.split("|")] for language, texts in SENTENCES.items()}


@pytest.fixture(scope="module")
def minilm():
    return newfound.load_encoder("minilm")


@real
@pytest.mark.parametrize("language", SENTENCES)
def test_other_languages_are_noticed(minilm, language):
    texts = SENTENCES[language]
    assert foreign_share(minilm.tokenizer, texts) >= 0.8
    english = load_demo().train.texts[::4]
    both = language_warning(minilm, texts, texts)
    assert MULTILINGUAL_ENCODER in both
    assert "differ in language" not in both
    apart = language_warning(minilm, english, texts)
    assert MULTILINGUAL_ENCODER in apart
    assert "known intents and logs seem to differ in language" in apart
    assert "\n" not in apart
    alone = language_warning(minilm, [], texts)
    assert "of the logs are likely not in the language" in alone, "there is nothing to differ from"
    assert language_warning(minilm, english, [*english[:300], *texts]) is None, "a few among many are no alarm"


@real
def test_the_demo_corpus_raises_no_alarm(minilm):
    task = load_demo()
    assert language_warning(minilm, task.train.texts, [*task.test.texts, *off_topic().texts]) is None
    assert foreign_share(minilm.tokenizer, task.train.texts) < 0.03


@real
@pytest.mark.parametrize(("name", "part"), [("banking77", "train"), ("clinc150", "train"), ("clinc150", "oos")])
def test_the_benchmarks_raise_no_alarm(minilm, shared_data, monkeypatch, name, part):
    monkeypatch.setenv("NEWFOUND_DATA", str(shared_data))
    assert foreign_share(minilm.tokenizer, read_part(name, part).texts) < 0.05


TECHNICAL = """order 2x Kugellager-6204-2RS and Gehäusedeckel-GHD4711|NullPointerException in getUserById(userId)
    |is hydroxychloroquine safe with methylphenidate|price of WH-1000XM5 vs QC45|ERR_CONN_REFUSED nginx k8s-ingress
    |adalimumab biosimilar dosage|systemd-resolved restart loop ubuntu|return Drehmomentschlüssel-DMS200
    |need polytetrafluoroethylene gasket DN50|useEffect infinite rerender typescript|XJ-900 firmware bricked
    |thrombocytopenia after rivaroxaban|pg_stat_activity idle_in_transaction|RTX4090Ti availability|levothyroxine 50mcg
    |my Wechselrichter-WR5000 shows E-27|cannot import numpy.ndarray typing|Überspannungsschutz UES3 datasheet"""


@real
def test_technical_terms_are_no_other_language(minilm):
    texts = [text.strip() for text in TECHNICAL.split("|")]
    assert language_warning(minilm, texts, texts) is None
    assert language_warning(minilm, [], ["𝓘 𝔀𝓪𝓷𝓽 a refund"] * 20) is None


@real
@pytest.mark.parametrize("name", ["hint3-curekart", "hint3-sofmattress", "dstc11-insurance", "dstc11-banking", "snips"])
def test_english_of_customers_raises_no_alarm(minilm, shared_data, name):
    assert language_warning(minilm, [], [row["text"] for row in more_rows(shared_data, name)]) is None


@real
@pytest.mark.parametrize("language", ["de", "nl", "it", "ja", "zh", "ar", "id", "tr"])
def test_a_tenth_of_the_texts_in_another_language_is_noticed(minilm, shared_data, language):
    rows = more_rows(shared_data, "xsid")
    english = [row["text"] for row in rows if row["language"] == "en"]
    texts = [row["text"] for row in rows if row["language"] == language]
    assert language_warning(minilm, [], english) is None
    assert "not in the language" in language_warning(minilm, [], [*english[:360], *texts[:40]])
    assert foreign_share(minilm.tokenizer, texts) > 0.85


def more_rows(shared_data, name):
    path = shared_data / "more" / f"{name}.csv"
    if not path.is_file():
        pytest.skip(f"{name} is not among the benchmark data of this machine")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class WordTokenizer:
    """Knows some words, and cuts all others into letters; as large as it says."""

    unk_token_id = 0

    def __init__(self, words, size=30_000):
        self.words, self.size = set(words), size

    def __len__(self):
        return self.size

    def get_vocab(self):
        return {word: i for i, word in enumerate(sorted(self.words))}

    def __call__(self, words, add_special_tokens):
        assert not add_special_tokens
        return {"input_ids": [[1] if word.strip() in self.words else [2] * len(word.strip()) for word in words]}


ENGLISH = WordTokenizer({*FUNCTION_WORDS["English"], "pay", "bill"})


def test_shares_by_hand():
    """Codes and unknown words can belong to any language; a known word, or a function word, tells which it is."""
    texts = ["pay my bill"] * 9 + ["zahle meine rechnung", "gehäusedeckel kugellager", "X4711-b", "1234"]
    assert foreign_share(ENGLISH, texts) == pytest.approx(1 / 10)
    assert foreign_share(ENGLISH, texts[:5]) is None, "too few texts"
    assert foreign_share(ENGLISH, texts[-3:] * 10) is None, "nothing in them tells the language"
    assert foreign_share(WordTokenizer(ENGLISH.words, 250_000), texts) is None, "a multilingual vocabulary"
    assert foreign_share(WordTokenizer(ENGLISH.words, 200), texts) is None
    encoder = SimpleNamespace(name="tiny", tokenizer=ENGLISH)
    half = ["pay my bill"] * 10 + ["zahle meine rechnung"] * 10
    assert "50 % of the logs are likely not" in language_warning(encoder, half, half)
    assert "50 % of the logs, but 0 % of the known" in language_warning(encoder, ["pay my bill"] * 10, half)
    assert language_warning(encoder, half[:10] * 3 + half[-1:], half[:10]) is None


def test_encoders_of_other_languages_are_judged_by_their_own():
    german = WordTokenizer({*FUNCTION_WORDS["German"], "zahlen", "rechnung"})
    assert foreign_share(german, ["ich möchte meine rechnung zahlen"] * 10) == 0
    assert foreign_share(german, ["i want to pay my bill now"] * 10) == 1
    chinese = WordTokenizer("我想付账单技术员什么时候来的银行卡丢了怎么修改密码")
    assert foreign_share(chinese, ["我想付账单"] * 10) in (None, 0)
    assert foreign_share(chinese, ["я хочу оплатить счёт"] * 10) == 1


@real
def test_discover_and_estimate_warn_once(minilm, caplog):
    task = load_demo()
    known = task.train.take(range(0, len(task.train), 40)).labelled()
    texts = list(known.texts) * 2, list(known.labels) * 2
    logs = SENTENCES["German"] + SENTENCES["Spanish"]
    with caplog.at_level(logging.WARNING, logger="newfound"):
        newfound.discover(texts, logs, encoder=minilm, n_new=2, device="cpu", effort="quick")
    assert [MULTILINGUAL_ENCODER in record.message for record in caplog.records].count(True) == 1
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="newfound"):
        newfound.estimate(texts, logs, encoder=minilm)
    assert [MULTILINGUAL_ENCODER in record.message for record in caplog.records].count(True) == 1
