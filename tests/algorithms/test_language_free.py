"""Vectors without their language: what the words of few texts tell, and what is subtracted."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import adjusted_rand_score

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.languages import assign_languages, without_languages, without_translations


def spoken(lacking: tuple[tuple[int, int], ...] = (), seed: int = 0):
    """Vectors of four intents in three languages, of which a language may lack an intent; a language weighs most."""
    generator = torch.Generator().manual_seed(seed)
    of_intent, of_language = torch.randn(4, 16, generator=generator), 2 * torch.randn(3, 16, generator=generator)
    intent, language = torch.arange(4).repeat_interleave(75), torch.arange(3).repeat(100)
    keep = torch.tensor([(i, s) not in lacking for i, s in zip(intent.tolist(), language.tolist(), strict=True)])
    intent, language = intent[keep], language[keep]
    x = of_intent[intent] + of_language[language] + 0.3 * torch.randn(len(intent), 16, generator=generator)
    return F.normalize(x, dim=-1), intent, language


def clusters_of(x):
    return kmeans(x, 4, restarts=3, seed=0).labels


@pytest.mark.parametrize("lacking", [(), ((3, 0), (3, 1), (0, 2))])
def test_intents_are_found_across_languages(lacking):
    x, intent, language = spoken(lacking)
    assert adjusted_rand_score(intent, clusters_of(x)) < 0.5
    assert adjusted_rand_score(intent, clusters_of(without_languages(x, language))) > 0.9


def test_vectors_tell_the_language_that_words_do_not():
    x, _, language = spoken()
    likely = torch.where(torch.rand(300, generator=torch.Generator().manual_seed(1)) < 0.3, language, -1)
    assert (assign_languages(x, likely) == language).float().mean() > 0.99
    mistaken = torch.where(torch.arange(300) % 20 == 0, 0, language)  # English titles in other languages
    assert (assign_languages(x, mistaken) == language).float().mean() > 0.99


def test_what_is_left_has_unit_length_and_no_mean():
    x, _, language = spoken()
    left = without_languages(x, language)
    torch.testing.assert_close(left.norm(dim=-1), torch.ones(300))
    assert all(left[language == i].mean(0).norm() < 0.2 for i in range(3))


def test_a_request_in_another_language_is_a_repeat():
    """Rows 0 and 1 say the same in two languages, rows 2 and 3 in one; row 4 says something else."""
    x = F.normalize(torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0], [-1.0, 0.0]]), dim=-1)
    assert without_translations(x, torch.tensor([0, 1, 0, 0, 1])).tolist() == [0, 2, 3, 4]
