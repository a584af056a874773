"""The model card names no utterances and no folder of this machine, and what the export says of thresholds."""

from __future__ import annotations

import json

import pytest
import yaml

import newfound
from newfound.model.folder import load
from newfound.model.sidecars import save_thresholds
from newfound.workflows.assigned import read_assigned
from newfound.workflows.exporting import project_of
from newfound.workflows.publishing import model_card, public_name
from newfound.workflows.runtime import Runtime


def test_the_hub_understands_the_card_and_names_cannot_break_its_table(saved):
    about, model = json.loads((saved / "model.json").read_bytes()), load(saved)
    about["encoder"]["name"] = "multilingual"
    renamed = model.with_names([f"a|b <i>{n}" for n in range(len(model.intents))])
    card = model_card(about, renamed.intents, "hf://a/m")
    front = yaml.safe_load(card.split("---\n")[1])
    assert (front["library_name"], front["pipeline_tag"]) == ("newfound", "text-classification")
    assert "intent-discovery" in front["tags"]
    assert front["base_model"] == "intfloat/multilingual-e5-small"
    assert "license" not in front  # is up to those who made the model
    assert "intfloat/multilingual-e5-small (mit)" in card
    assert "| a\\|b &lt;i>0 |" in card
    data = about["provenance"]["data"]
    assert f"{data['labelled']} labelled and {data['unlabelled']} unlabelled" in card
    for fact in (data["fingerprint"][:16], "KMeans", newfound.__version__):
        assert fact in card


def test_a_card_that_somebody_wrote_into_the_folder_stays(folder):
    (folder / "README.md").write_text("# Mine\n", "utf-8")
    load(folder).save(folder, overwrite=True)
    assert (folder / "README.md").read_text("utf-8") == "# Mine\n"


@pytest.mark.parametrize(
    ("encoder", "shown"),
    [("minilm", "minilm"), ("owner/name", "owner/name"), ("/home/ana/enc/", "enc"), ("C:\\Users\\ana\\enc", "enc")],
)
def test_an_encoder_is_named_without_its_folder(encoder, shown):
    assert public_name(encoder) == shown


def project(model):
    return project_of(read_assigned(model, Runtime.of(None)), "en")


def test_thresholds_of_the_model_are_in_the_export(folder, tmp_path):
    first, second, *_ = load(folder).intents
    assert project(folder).thresholds == {}
    save_thresholds(folder, 0.95, {first.id: 0.62, second.id: None})
    for found in (project(folder), project(newfound.load(folder))):
        assert found.thresholds[first.name] == 0.62
        assert found.thresholds[second.name] == 1.0  # none keeps the promise
    newfound.export(folder, "semantic-router", tmp_path / "routes.json", with_guesses=True)
    routes = {route["name"]: route for route in json.loads((tmp_path / "routes.json").read_bytes())["routes"]}
    assert routes[first.name]["metadata"] == {"status": first.status, "threshold": 0.62}
