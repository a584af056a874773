"""Measure for which corpora newfound warns that they are not in the language of the encoder.

python benchmarks/languages/measure.py --out FILE     all corpora, with the encoder minilm
python benchmarks/languages/measure.py --table FILE   print the results

A warning about English is false; no warning about another language is missed. English are BANKING77, CLINC150, the
corpora in the folder `more` beside them in $NEWFOUND_DATA, and sentences full of technical terms that are made here.
The other languages are those of xSID: alone, and mixed with its English.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from newfound.bench.provenance import with_code_hash
from newfound.bench.studies import study_encoder
from newfound.data.benchmarks import read_part
from newfound.encoders.encoder import Encoder
from newfound.encoders.languages import foreign_share, language_warning
from newfound.files import to_json, write_atomically

ENGLISH = ("hint3-curekart", "hint3-sofmattress", "dstc11-insurance", "dstc11-banking", "snips")
MIXED_SHARES = (0.1, 0.3, 0.5, 1.0)
MIXED_SIZE = 400  # texts; as many as there are of the smallest language
SYNTHETIC_SIZE = 300
SEED = 0

TERMS = {
    "product codes": """XJ-900 PN4471-B RTX4090Ti SKU88213 WH1000XM5 B07XJ8C8F7 MX-5540DN ZX81-K QN90C EOS-R6 KDL40W600B
        DCS-7050SX3 GA-B450M i7-13700K NVMe-980 LTE-M4G""",
    "medical and chemical names": """hydroxychloroquine acetaminophen methylphenidate adalimumab atorvastatin
        polytetrafluoroethylene dichlorodiphenyltrichloroethane levothyroxine pembrolizumab lisinopril benzalkonium
        tetrahydrocannabinol escitalopram rivaroxaban thrombocytopenia gastroesophageal cholecystectomy osteochondritis
        glomerulonephritis isopropylbenzene ethylenediaminetetraacetic""",
    "German-looking part numbers": """Gehäusedeckel-GHD4711 Kugellager-6204-2RS Zahnriemen-HTD5M Steuergerät-ECU17
        Dichtungssatz-DS880 Führungsschiene-FS45 Kabelbaum-KB12 Drehmomentschlüssel-DMS200 Hydraulikzylinder-HZ63
        Schaltnetzteil-SNT24 Überspannungsschutz-UES3 Kompressor-KP90 Wechselrichter-WR5000 Thermostatventil-TV15""",
    "code identifiers": """getUserById NullPointerException ERR_CONN_REFUSED kube-apiserver numpy.ndarray
        pg_stat_activity std::unordered_map libssl1.1 systemd-resolved OAuth2TokenProvider __init__ useEffect
        tf.keras.layers k8s_ingress_nginx setTimeout ENOSPC xmlhttprequest docker-compose.yml gRPC segfault""",
}
SENTENCES = {
    "in sentences": """where can i order a new {} for my {}|my {} stopped working after the {} was replaced
        |what is the price of {} and is {} included|please tell me how to return the {}|does {} work together with {}
        |i need two of {} and one {} by friday|why does {} fail when {} is running|the {} arrived broken, send another
        |can you compare {} with {} and {}|is there a manual for the {} in stock""",
    "in short requests": """{} {} not working|order {} {} today|return {} and {}|{} price|need {} {} {}
        |status of {} {}|problem with {} {}|cancel {} {}|{} versus {}|{} for {}""",
}


def main() -> None:
    """Measure, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--table", type=Path, help="print the results in this file")
    options = parser.parse_args()
    if options.table is not None:
        print_table(json.loads(options.table.read_text()))
        return
    encoder = study_encoder()
    rows = [with_code_hash(measured(encoder, *case)) for case in cases()]
    if options.out is not None:
        write_atomically(options.out, to_json(rows))
    print_table(rows)


def cases() -> Iterator[tuple[str, float, Sequence[str]]]:
    """Yield the name of each corpus, the share of its texts that are not English, and the texts."""
    for name, part in (("banking77", "train"), ("banking77", "test"), ("clinc150", "train"), ("clinc150", "oos")):
        yield f"{name} {part}", 0.0, read_part(name, part).texts
    for name in ENGLISH:
        rows = read_more(name)
        yield name, 0.0, [row["text"] for row in rows]
        if any(row["part"] == "test" for row in rows):
            yield f"{name} test", 0.0, [row["text"] for row in rows if row["part"] == "test"]
    for kind in TERMS:
        for form in SENTENCES:
            yield f"{kind} {form}", 0.0, technical_texts(kind, form)
    by_language: dict[str, list[str]] = {}
    for row in read_more("xsid"):
        by_language.setdefault(row["language"], []).append(row["text"])
    english = by_language.pop("en")
    yield "xsid en", 0.0, english
    for language, texts in by_language.items():
        for share in MIXED_SHARES:
            yield f"xsid {language}", share, mixed(english, texts, share)


def read_more(name: str) -> list[dict[str, str]]:
    """Return the rows of a corpus in the folder `more`."""
    path = Path(os.environ["NEWFOUND_DATA"]) / "more" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def technical_texts(kind: str, form: str, size: int = SYNTHETIC_SIZE) -> list[str]:
    """Return English sentences with technical terms of a kind."""
    rng = random.Random(SEED)
    terms = TERMS[kind].split()
    sentences = [sentence.strip() for sentence in SENTENCES[form].split("|")]
    chosen = [rng.choice(sentences) for _ in range(size)]
    return [sentence.format(*rng.sample(terms, sentence.count("{}"))) for sentence in chosen]


def mixed(english: Sequence[str], others: Sequence[str], share: float) -> list[str]:
    """Return texts of which a share is in another language."""
    rng = random.Random(SEED)
    n_others = round(share * MIXED_SIZE)
    texts = rng.sample(others, n_others) + rng.sample(english, MIXED_SIZE - n_others)
    rng.shuffle(texts)
    return texts


def measured(encoder: Encoder, name: str, share: float, texts: Sequence[str]) -> dict[str, object]:
    """Return what is said of a corpus, as logs without known intents."""
    estimated = foreign_share(encoder.tokenizer, texts)
    return {
        "corpus": name,
        "texts": len(texts),
        "not English": share,
        "estimated": None if estimated is None else round(estimated, 4),
        "warning": language_warning(encoder, [], texts) is not None,
    }


def print_table(rows: Sequence[dict[str, object]]) -> None:
    """Print the results as a Markdown table, and how many of the warnings are wrong."""
    print("| corpus | texts | not English | estimated | warning |")
    print("|---|---|---|---|---|")
    for row in rows:
        estimated = "–" if row["estimated"] is None else f"{100 * float(str(row['estimated'])):.1f} %"
        share = f"{100 * float(str(row['not English'])):.0f} %"
        print(f"| {row['corpus']} | {row['texts']} | {share} | {estimated} | {'yes' if row['warning'] else 'no'} |")
    english = [row for row in rows if not row["not English"]]
    others = [row for row in rows if row["not English"]]
    print(f"\nfalse: {sum(bool(row['warning']) for row in english)} of {len(english)}")
    print(f"missed: {sum(not row['warning'] for row in others)} of {len(others)}")


if __name__ == "__main__":
    main()
