"""DPL with the preset `released` against the formulas of the released code, written out plainly, with the same weights.

The transformer is that of transformers, on utterances padded to one length. Random dropout is off; a fixed mask takes
its place, so that the two views differ and a swap of their targets shows.
"""

from __future__ import annotations

import copy
import json

import pytest
import torch
import torch.nn.functional as F
from benchmarks.harness.presets import preset_settings

from conftest import themed_corpus, write_tiny_encoder
from newfound import DPL
from newfound.algorithms.assignment import move_prototypes
from newfound.encoders.encoder import load_encoder
from newfound.methods import dpl
from newfound.training.trainer import Trainer

N_KNOWN, LENGTH, TAU, TAU_INS, GAMMA = 3, 12, 0.1, 0.5, 0.9
SETTINGS = {"max_length": LENGTH, "pretrain_epochs": 0, "epochs": 2, "lr": 1e-9, "min_lr": 1e-9, "select": "last"}


class FixedMask(torch.nn.Module):
    """In place of dropout: always the same components are zero, others in the second view than in the first."""

    def forward(self, x):
        return x * (torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) > 0.3)


def two_steps(encoder, corpus, monkeypatch):
    """Return, for each of two steps on the whole corpus, the network before it and what it computed."""
    steps, one_step = [], Trainer._one_step

    def keep_step(self, step, batch):
        self.module.dropout = FixedMask()
        steps.append({"before": copy.deepcopy(self.module), "rows": batch.rows.tolist()})
        steps[-1]["losses"] = one_step(self, step, batch)
        steps[-1]["gradients"] = {name: p.grad for name, p in self.module.named_parameters() if p.requires_grad}
        steps[-1]["mu"] = self.module.mu.clone()
        return steps[-1]["losses"]

    def keep_argument(function, number, name):
        def call(*arguments):
            steps[-1][name] = arguments[number].detach()
            return function(*arguments)

        monkeypatch.setattr(dpl, function.__name__, call)

    monkeypatch.setattr(Trainer, "_one_step", keep_step)
    keep_argument(dpl.disambiguate, 0, "z")
    keep_argument(dpl.cross_entropy, 0, "logits")
    keep_argument(dpl.prototypical_contrastive, 2, "q of the other view")
    settings = {**preset_settings("dpl", "released"), **SETTINGS, "n_new": 2, "device": "cpu"}
    DPL(encoder=encoder, **settings).fit(corpus.texts, corpus.labels)
    return steps


def balanced(cosines):
    """Sinkhorn-Knopp in three rounds: every column gets an equal share, then every row adds up to one."""
    q = torch.exp(cosines.detach().double() / 0.05)
    for _ in range(3):
        q = q / q.sum(0, keepdim=True) / q.shape[1]
        q = q / q.sum(1, keepdim=True)
    return q.float()


def plain_step(encoder, texts, y, before):
    """The released code's formulas in its order, with loops where it has them."""
    bert, heads, mu, n = copy.deepcopy(encoder.model), copy.deepcopy(before), before.mu, len(y)
    for name, p in bert.named_parameters():
        p.requires_grad_("encoder.layer.2." in name)  # the last of three
    tokens = encoder.tokenizer(texts, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")
    hidden = bert(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
    pooled = hidden.mean(1)  # padding included
    views = FixedMask()(heads.dense(torch.cat([pooled, pooled])).tanh()).split(n)
    weight = (before.classifier.weight / before.classifier.weight.norm(dim=1, keepdim=True)).detach().requires_grad_()
    z = [heads.projection(x) / heads.projection(x).norm(dim=1, keepdim=True) for x in views]
    logits = [x / x.norm(dim=1, keepdim=True) @ weight.T for x in views]
    q, labels = torch.zeros(2, n, len(mu)), torch.zeros(2, n, len(mu))
    for view in (0, 1):
        q[view, y < 0, N_KNOWN:] = balanced(logits[view][y < 0, N_KNOWN:])
        for i in range(n):
            nearest = N_KNOWN + int((mu[N_KNOWN:] @ z[view][i]).argmax())
            labels[view, i, y[i] if y[i] >= 0 else nearest] = 1.0
            q[view, i, y[i]] += float(y[i] >= 0)

    def swapped(scores, targets):
        return sum(-(targets[1 - v] * (scores[v] / TAU).log_softmax(1)).sum(1).mean() / 2 for v in (0, 1))

    both, ins = torch.cat(z), torch.zeros(())
    for i in range(2 * n):
        similarity = both @ both[i] / TAU_INS
        others = [k for k in range(2 * n) if k != i]
        ins = ins + (similarity[others].logsumexp(0) - similarity[(i + n) % (2 * n)]) / (2 * n)
    losses = {"pcl": swapped([v @ mu.T for v in z], q), "ins": ins, "ce": swapped(logits, labels)}
    losses["loss"] = (losses["pcl"] + losses["ins"] + losses["ce"]) / 3
    losses["loss"].backward()
    moved = mu.clone()
    for vector, c in zip(both.detach(), q.argmax(-1).flatten().tolist(), strict=True):
        moved[c] = GAMMA * moved[c] + (1 - GAMMA) * vector
    parts = {"dense": heads.dense, "projection": heads.projection, "tail": bert}
    norms = {name: norm_of(p.grad for p in part.parameters() if p.requires_grad) for name, part in parts.items()}
    found = {"z": torch.stack(z), "q of the other view": q.flip(0), "logits": torch.stack(logits)}
    found["mu"] = F.normalize(moved, dim=1)
    return pooled.detach(), found, losses, norms | {"classifier": norm_of([weight.grad])}


def norm_of(gradients):
    return float(torch.cat([g.flatten() for g in gradients]).norm())


def test_a_step_equals_the_released_formulas(tmp_path, monkeypatch):
    """In the first step all prototypes are zero; the second begins with those that the first has moved."""
    folder, corpus = write_tiny_encoder(tmp_path / "without dropout"), themed_corpus(per_theme=8)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    encoder = load_encoder(str(folder), whole=True)
    steps = two_steps(encoder, corpus, monkeypatch)
    assert len(steps) == 2
    for ours in steps:
        texts, labels = ([values[i] for i in ours["rows"]] for values in (corpus.texts, corpus.labels))
        y = torch.tensor([-1 if label is None else corpus.intents.index(label) for label in labels])
        pooled, plain, losses, norms = plain_step(encoder, texts, y, ours["before"])
        own = encoder.variant(pooling="padded-mean", max_length=LENGTH)
        torch.testing.assert_close(own.features(texts, own.tune("heads")).data.flat, pooled, atol=1e-5, rtol=1e-4)
        for name, expected in plain.items():
            torch.testing.assert_close(ours[name], expected.detach(), atol=2e-5, rtol=1e-3)
        for name, loss in losses.items():
            assert float(ours["losses"][name]) == pytest.approx(float(loss.detach()), rel=1e-4), name
        for part, norm in norms.items():
            gradients = [g for name, g in ours["gradients"].items() if name.startswith(part)]
            assert norm_of(gradients) == pytest.approx(norm, rel=1e-3), part
        assert (ours["z"][0] - ours["z"][1]).abs().max() > 0.01, "the views differ"


def test_prototypes_move_in_full_precision_where_the_step_does_not():
    z = F.normalize(torch.randn(40, 8, generator=torch.Generator().manual_seed(0)), dim=-1)
    mu, ids = F.normalize(z[:4] + 0.1, dim=-1), torch.arange(40) % 4
    with torch.autocast("cpu", dtype=torch.bfloat16):
        halved = move_prototypes(mu, z, ids, GAMMA)
    assert torch.equal(halved, move_prototypes(mu, z, ids, GAMMA))
