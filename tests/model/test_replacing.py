"""What people decided is never lost when a model folder is replaced, or when several processes write beside a model."""

from __future__ import annotations

import os
import sys
import threading

import pytest
import safetensors.torch

import newfound
from newfound.errors import ConflictError, OutputError
from newfound.files import hold_folder
from newfound.model.folder import load, save
from newfound.model.sidecars import load_answers
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore, read_history
from newfound.workflows.auditing import open_audit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked")


def accept_last(store):
    return store.decide([Decision("accept", {"intent": store.names[-1]})], author="ana")


def test_what_is_decided_while_a_model_is_written_stays_and_so_does_the_model(folder, tiny_encoder, monkeypatch):
    model, write = load(folder, encoder=tiny_encoder), safetensors.torch.save_file

    def decide_meanwhile(*args):
        accept_last(ReviewStore(folder))
        write(*args)

    monkeypatch.setattr("safetensors.torch.save_file", decide_meanwhile)
    with pytest.raises(OutputError, match=r"holds a person's review decisions by now, .* folder is .*/model-2$"):
        save(model, folder, overwrite=True)
    assert len(ReviewStore(folder).entries()) == 1
    assert load(folder.with_name("model-2"), encoder=tiny_encoder).intents == model.intents
    assert {path.name for path in folder.parent.iterdir()} == {"model", "model-2"}


def test_nothing_said_about_a_replaced_model_is_recorded_for_its_successor(folder, tiny_encoder):
    store, audit = ReviewStore(folder), open_audit(folder)
    save(load(folder, encoder=tiny_encoder), folder, overwrite=True)
    with pytest.raises(ConflictError, match="another model was put into model, nothing was recorded"):
        accept_last(store)
    (question,) = audit.questions(1)
    with pytest.raises(ConflictError, match="another model"):
        audit.record({(question.text, question.id): True})
    assert not (folder / "review.sqlite3").exists()
    assert load_answers(folder) == {}


def test_a_folder_is_replaced_when_nobody_records_in_it(folder, tiny_encoder):
    model, before = load(folder, encoder=tiny_encoder), folder.stat().st_ino
    writer = threading.Thread(target=save, args=(model, folder), kwargs={"overwrite": True})
    with hold_folder(folder, alone=False):
        writer.start()
        writer.join(0.5)
        assert folder.stat().st_ino == before
    writer.join()
    assert folder.stat().st_ino != before


def test_answers_of_two_processes_are_all_kept(folder):
    audit = open_audit(folder)
    keys = [(question.text, question.id) for question in audit.questions(40)]
    children = []
    for number in range(2):
        children.append(os.fork())
        if children[-1] == 0:  # pragma: no cover (a child)
            for key in keys[number::2]:
                audit.record({key: True})
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)
    assert set(load_answers(folder)) == set(keys)


def test_a_model_that_is_in_its_place_has_its_history(folder, tiny_encoder, tmp_path, monkeypatch):
    """Killed as soon as the folder has its name."""
    accept_last(ReviewStore(folder))
    replace, out = os.replace, tmp_path / "refitted"

    def be_killed(source, target):
        replace(source, target)
        if target == out:
            raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", be_killed)
    with pytest.raises(KeyboardInterrupt):
        newfound.refit(folder, out, encoder=tiny_encoder, tune="heads", device="cpu")
    assert [entry.author for entry in read_history(out)[-1].entries] == ["ana"]
