"""Every model folder has a model card without utterances, and a card that somebody changed is kept."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml

import newfound
from newfound.data.validation import read_corpus
from newfound.exports.common import Project
from newfound.exports.registry import EXPORTS
from newfound.model.card import kept_card, model_card, public_name
from newfound.model.folder import load
from newfound.model.sidecars import save_thresholds
from newfound.workflows.exporting import project_of


def _front_matter(card: str) -> dict:
    return yaml.safe_load(card.split("---\n")[1])


def test_a_saved_model_has_a_card_that_the_hub_understands(saved):
    card = (saved / "README.md").read_text("utf-8")
    front = _front_matter(card)
    assert front["library_name"] == "newfound"
    assert front["pipeline_tag"] == "text-classification"
    assert "intent-discovery" in front["tags"]
    assert "license" not in front  # is up to those who made the model
    about = json.loads((saved / "model.json").read_bytes())
    for intent in about["intents"]:
        assert f"| {intent['name']} | {'known' if intent['known'] else 'new'} | {intent['size']} |" in card
    data = about["provenance"]["data"]
    assert f"{data['labelled']} labelled and {data['unlabelled']} unlabelled" in card
    assert data["fingerprint"][:16] in card
    assert "KMeans" in card
    assert newfound.__version__ in card
    texts = [json.loads(line)["text"] for line in (saved / "utterances.jsonl").read_text("utf-8").splitlines()]
    assert not [text for text in texts if len(text.split()) > 2 and text in card]
    assert str(saved.parent) not in card  # no folder of this machine


def test_an_edited_card_is_kept_and_a_generated_one_is_written_again(saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "model")
    model, card = load(folder), folder / "README.md"
    assert kept_card(folder) is None
    renamed = model.with_names([f"x_{intent.name}" for intent in model.intents])
    renamed.save(folder, overwrite=True)
    assert "| x_" in card.read_text("utf-8")
    card.write_text(card.read_text("utf-8").replace("A classifier", "Our classifier"), "utf-8")
    model.save(folder, overwrite=True)
    assert "Our classifier" in card.read_text("utf-8")
    card.write_text("# Mine\n", "utf-8")
    model.save(folder, overwrite=True)
    assert card.read_text("utf-8") == "# Mine\n"
    card.unlink()  # a folder without one loads
    load(folder).save(folder, overwrite=True)
    assert kept_card(folder) is None


def test_names_cannot_break_the_table_and_licences_of_short_names_are_stated(saved):
    about = json.loads((saved / "model.json").read_bytes())
    about["encoder"]["name"] = "multilingual"
    model = load(saved)
    renamed = model.with_names([f"a|b <i>{n}" for n in range(len(model.intents))])
    card = model_card(about, renamed.intents, name="m", source="hf://a/m").decode()
    assert "| a\\|b &lt;i>0 |" in card
    assert _front_matter(card)["base_model"] == "intfloat/multilingual-e5-small"
    assert "| Licence of the encoder | mit |" in card


@pytest.mark.parametrize(
    ("encoder", "shown"),
    [("minilm", "minilm"), ("owner/name", "owner/name"), ("/home/ana/enc/", "enc"), ("C:\\Users\\ana\\enc", "enc")],
)
def test_an_encoder_is_named_without_its_folder(encoder, shown):
    assert public_name(encoder) == shown


def test_thresholds_of_the_model_are_in_the_export(saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "model")
    first, second, *_ = load(folder).intents
    assert project_of(folder).thresholds == {}
    save_thresholds(folder, 0.95, {first.id: 0.62, second.id: float("inf")})
    for project in (project_of(folder), project_of(newfound.load(folder))):
        assert project.thresholds[first.name] == 0.62
        assert project.thresholds[second.name] == 1.0  # none keeps the promise
    newfound.export(folder, "semantic-router", tmp_path / "routes.json", with_guesses=True)
    routes = {route["name"]: route for route in json.loads((tmp_path / "routes.json").read_bytes())["routes"]}
    assert routes[first.name]["metadata"] == {"status": first.status, "threshold": 0.62}


def test_real_utterances_reach_every_new_format(shared_data):
    corpus, _ = read_corpus(shared_data / "banking77" / "train.csv")
    routes = json.loads(EXPORTS["semantic-router"].write(corpus, Project()))["routes"]
    assert len(routes) == 77
    assert sum(len(route["utterances"]) for route in routes) > 0.99 * len(corpus)
