"""Published settings of methods."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from benchmarks.harness.cells import Cell
from benchmarks.harness.presets import PRESETS, preset_settings
from benchmarks.harness.running import cell_settings

from newfound.errors import SettingsError
from newfound.methods.registry import METHODS
from newfound.model.network import IntentNetwork

SHORT = {"n_new": 2, "epochs": 4, "pretrain_epochs": 3, "joint_epochs": 2, "batch_size": 64, "device": "cpu"}


@pytest.mark.parametrize(("method", "name"), [(method, name) for method, names in PRESETS.items() for name in names])
def test_a_preset_is_fitted_and_its_layers_start_as_published(method, name, tiny_encoder, themed, monkeypatch):
    """The released code draws from a normal distribution with 0.02; torch's own start has 0.1 for 32 components."""
    own, starts = IntentNetwork.new_layer, []

    def keep(self, inputs, outputs):
        layer = own(self, inputs, outputs)
        starts.append(float(layer.weight.detach().std()))
        assert not layer.bias.any()
        return layer

    monkeypatch.setattr(IntentNetwork, "new_layer", keep)
    make = METHODS[method].load()
    short = {key: value for key, value in SHORT.items() if key in make().get_params(deep=False)}
    settings = {**preset_settings(method, name, "clinc150"), **short}
    fitted = make(encoder=tiny_encoder, **settings).fit(themed.texts, themed.labels)
    assert len(fitted.history_["discovery"]) == 4
    assert fitted.model_.embedder.tune.layers == 1, "on a CPU, too, the last layer trains"
    layers = {("dpl", "paper"): 2, ("dpl", "released"): 3, ("e2e", "released"): 1, ("deepaligned", "released"): 2}
    assert starts == pytest.approx([0.1 if name == "paper" else 0.02] * layers[method, name], rel=0.2)


def test_a_variant_takes_the_preset_of_its_benchmark():
    task = SimpleNamespace(known=("c",), new=("a", "b"), observed_train=SimpleNamespace(intents=("c",)))
    banking, clinc = (
        cell_settings(Cell("dpl", benchmark, 40, 1, 0, "minilm", "last", "released"), task)
        for benchmark in ("GID-SD", "GID-MD")
    )
    assert (banking["lr"], banking["max_length"], clinc["lr"], clinc["max_length"]) == (0.02, 55, 0.1, 30)
    assert (banking["n_new"], clinc["gamma"], clinc["pretrain_batch_size"]) == (2, 0.9, 256)
    with pytest.raises(SettingsError, match="'released' trains the layers 'last', not 'heads'"):
        cell_settings(Cell("dpl", "GID-SD", 40, 1, 0, "minilm", "heads", "released"), task)
    for method, presets in (("deepaligned", "released"), ("kmeans", "none")):
        with pytest.raises(SettingsError, match=f"{method} has no preset 'paper'; its presets: {presets}"):
            preset_settings(method, "paper")
