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
from newfound.training.trainer import Trainer

N_KNOWN, N_NEW, LENGTH, TAU, TAU_INS, GAMMA = 3, 2, 12, 0.1, 0.5, 0.9


class FixedMask(torch.nn.Module):
    """In place of dropout: always the same components are zero, others in the second view than in the first."""

    def forward(self, x):
        kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) > 0.3
        return x * kept


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """Two steps of DPL on a whole corpus: the encoder, and for each step the network before it and what it computed."""
    folder = write_tiny_encoder(tmp_path_factory.mktemp("encoders") / "without dropout")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps(config | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})
    )
    encoder, corpus, seen = load_encoder(str(folder), whole=True), themed_corpus(per_theme=8), []
    one_step, represent, classify = Trainer._one_step, DPL._representation_loss, DPL._classifier_loss

    def keep_step(self, step, batch):
        if self.stage != "discovery":
            return one_step(self, step, batch)
        self.module.dropout = FixedMask()
        seen.append({"before": copy.deepcopy(self.module), "rows": batch.rows.tolist()})
        seen[-1]["losses"] = one_step(self, step, batch)
        seen[-1]["gradients"] = {name: p.grad.clone() for name, p in self.module.named_parameters() if p.requires_grad}
        seen[-1]["mu"] = self.module.mu.clone()
        return seen[-1]["losses"]

    def keep_representation(self, z, q, mu):
        seen[-1] |= {"z": z.detach(), "q": q}
        return represent(self, z, q, mu)

    def keep_classifier(self, logits, labels, temperature):
        seen[-1]["logits"] = logits.detach()
        return classify(self, logits, labels, temperature)

    settings = {**preset_settings("dpl", "released"), "max_length": LENGTH, "pretrain_epochs": 0, "epochs": 2}
    settings |= {"lr": 1e-9, "min_lr": 1e-9, "select": "last", "n_new": N_NEW, "device": "cpu"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_one_step", keep_step)
        patch.setattr(DPL, "_representation_loss", keep_representation)
        patch.setattr(DPL, "_classifier_loss", keep_classifier)
        DPL(encoder=encoder, **settings).fit(corpus.texts, corpus.labels)
    return encoder, corpus, seen


def balanced(cosines):
    """Sinkhorn-Knopp in three rounds: every column gets an equal share, then every row adds up to one."""
    q = torch.exp(cosines.detach().double() / 0.05)
    for _ in range(3):
        q = q / q.sum(0, keepdim=True) / q.shape[1]
        q = q / q.sum(1, keepdim=True)
    return q.float()


def plain_step(encoder, texts, y, before):
    """The released code's formulas in its order, with loops where it has them."""
    bert, tokens = (
        copy.deepcopy(encoder.model),
        encoder.tokenizer(texts, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt"),
    )
    for name, p in bert.named_parameters():
        p.requires_grad_("encoder.layer.2." in name)  # the last of three
    heads = copy.deepcopy(before)
    hidden = bert(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
    pooled = hidden.mean(1)  # padding included
    vectors = heads.dense(torch.cat([pooled, pooled])).tanh()
    views = FixedMask()(vectors).split(len(texts))
    weight = before.classifier.weight.detach()
    weight = (weight / weight.norm(dim=1, keepdim=True)).requires_grad_()
    z = [heads.projection(x) / heads.projection(x).norm(dim=1, keepdim=True) for x in views]
    logits = [x / x.norm(dim=1, keepdim=True) @ weight.T for x in views]
    is_known, mu = y >= 0, before.mu
    q = [torch.zeros(len(y), N_KNOWN + N_NEW) for _ in views]
    labels = [torch.zeros(len(y), N_KNOWN + N_NEW) for _ in views]
    for view in (0, 1):
        q[view][~is_known, N_KNOWN:] = balanced(logits[view][~is_known, N_KNOWN:])
        for i in range(len(y)):
            nearest = N_KNOWN + int((mu[N_KNOWN:] @ z[view][i]).argmax())
            labels[view][i, y[i] if is_known[i] else nearest] = 1.0
            q[view][i, y[i]] += float(is_known[i])

    def swapped(scores, targets):
        return sum(-(targets[1 - v] * (scores[v] / TAU).log_softmax(1)).sum(1).mean() / 2 for v in (0, 1))

    both, n = torch.cat(z), len(y)
    similarity = both @ both.T / TAU_INS
    ins = torch.zeros(())
    for i in range(2 * n):
        others = [k for k in range(2 * n) if k != i]
        ins = ins + (similarity[i, others].logsumexp(0) - similarity[i, (i + n) % (2 * n)]) / (2 * n)
    losses = {"pcl": swapped([v @ mu.T for v in z], q), "ins": ins, "ce": swapped(logits, labels)}
    losses["loss"] = (losses["pcl"] + losses["ins"] + losses["ce"]) / 3
    losses["loss"].backward()
    moved = mu.clone()
    for view in (0, 1):
        for vector, c in zip(z[view].detach(), q[view].argmax(1).tolist(), strict=True):
            moved[c] = GAMMA * moved[c] + (1 - GAMMA) * vector
    gradients = {"dense": heads.dense, "projection": heads.projection, "tail": bert}
    norms = {name: norm_of(p.grad for p in part.parameters() if p.requires_grad) for name, part in gradients.items()}
    norms["classifier"] = norm_of([weight.grad])
    found = {"z": torch.stack(z), "q": torch.stack(q), "logits": torch.stack(logits), "mu": F.normalize(moved, dim=1)}
    return pooled.detach(), found, losses, norms


def norm_of(gradients):
    return float(torch.cat([g.flatten() for g in gradients]).norm())


@pytest.mark.parametrize("number", [0, 1])  # the first step has prototypes of zero, the second those that it has moved
def test_a_step_equals_the_released_formulas(number, steps):
    encoder, corpus, seen = steps
    assert len(seen) == 2
    ours, rows = seen[number], seen[number]["rows"]
    ids = {name: i for i, name in enumerate(corpus.intents)}
    y = torch.tensor([-1 if corpus.labels[i] is None else ids[corpus.labels[i]] for i in rows])
    texts = [corpus.texts[i] for i in rows]
    pooled, plain, losses, norms = plain_step(encoder, texts, y, ours["before"])
    whole = encoder.variant(pooling="padded-mean", max_length=LENGTH)
    of_trunk = whole.features(texts, whole.tune("heads")).data.flat
    torch.testing.assert_close(of_trunk, pooled, atol=1e-5, rtol=1e-4)
    for name, expected in plain.items():
        torch.testing.assert_close(ours[name], expected.detach(), atol=2e-5, rtol=1e-3)
    for name, expected in losses.items():
        assert float(ours["losses"][name]) == pytest.approx(float(expected.detach()), rel=1e-4), name
    for part, expected in norms.items():
        own = norm_of(g for name, g in ours["gradients"].items() if name.startswith(part))
        assert own == pytest.approx(expected, rel=1e-3), part
    assert (plain["q"][0] - plain["q"][1]).abs().max() > 0.01, "the views differ"


def test_prototypes_move_in_full_precision_where_the_step_does_not():
    z = F.normalize(torch.randn(40, 8, generator=torch.Generator().manual_seed(0)), dim=-1)
    mu, ids = F.normalize(z[:4] + 0.1, dim=-1), torch.arange(40) % 4
    with torch.autocast("cpu", dtype=torch.bfloat16):
        halved = move_prototypes(mu, z, ids, GAMMA)
    assert torch.equal(halved, move_prototypes(mu, z, ids, GAMMA))
