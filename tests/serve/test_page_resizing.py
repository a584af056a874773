"""Coarser and finer on the page, with a slider, by keyboard and by a typed number."""

from __future__ import annotations

import json
import shutil

import pytest
from browsing import decisions, fetched, said, section, to_view
from serving import client_of, server_of

from newfound.methods.kmeans import KMeans

pytest_plugins = ["browsing_fixtures"]


@pytest.fixture(scope="module")
def many(tiny_encoder, themed, tmp_path_factory):
    """A model folder with five new intents and an unsure estimate of their number; not to be changed."""
    folder = tmp_path_factory.mktemp("many") / "model"
    method = KMeans(n_new=5, encoder=tiny_encoder, tune="heads", epochs=20, device="cpu")
    method.fit(themed.texts, themed.labels).save(folder)
    about = json.loads((folder / "model.json").read_text())
    about["provenance"]["estimate"] = {"n_new": 5, "low": 2, "high": 9}
    (folder / "model.json").write_text(json.dumps(about))
    return folder


@pytest.fixture
def folder(many, tmp_path):
    return shutil.copytree(many, tmp_path / "model")


def test_over_http(folder, tiny_encoder):
    with client_of(folder, tiny_encoder) as client:
        present = client.get("/v1/review/resize").json()
        assert (present["present"], present["n_new"], present["fewest"], present["changes"]) == (5, 5, 2, [])
        assert present["estimate"] == {"n_new": 5, "low": 2, "high": 9, "is_unsure": True}
        preview = client.get("/v1/review/resize", params={"to": 3}).json()
        assert sum(len(c["before"]) - len(c["after"]) for c in preview["changes"]) == 2
        body = {"author": "ana", "version": preview["version"], "to": 3}
        accepted = preview["changes"][0]["before"][0]["name"]
        other = {"author": "bo", "version": 0, "decisions": [{"accept": accepted}]}
        assert client.post("/v1/review/decisions", json=other).status_code == 200
        refused = client.post("/v1/review/resize", json=body)
        assert refused.status_code == 409
        assert f"bo accepted {accepted} in the meantime" in refused.json()["detail"]
        body["version"] = client.get("/v1/review/resize").json()["version"]
        for to, status in ((1, 422), (5, 422), (99, 422), (3, 200)):
            assert client.post("/v1/review/resize", json={**body, "to": to}).status_code == status
        state = client.get("/v1/review/state").json()
        assert state["progress"]["new"] == 3
        undone = client.post("/v1/review/undo", json={"author": "ana", "version": state["version"]}).json()
        assert {entry["kind"] for entry in undone["entries"]} == {"merge"}
        assert client.get("/v1/review/state").json()["progress"]["new"] == 5


def new_intents(page):
    return page.locator(".new-intents a.name").all_text_contents()


def wait_for_chosen(page, words):
    page.wait_for_selector(f".chosen:has-text('{words}')")


def test_by_keyboard_and_by_number_on_the_page(browser, folder, tiny_encoder):
    with server_of(folder, tiny_encoder) as address:
        context = browser.new_context(viewport={"width": 390, "height": 860})
        page, problems = context.new_page(), []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{address}/#intents")
        page.evaluate("localStorage.setItem('newfound-author', 'Ana')")
        page.reload()
        page.click("summary:has-text('Coarser or finer')")
        page.wait_for_selector("#resize:not([disabled])")
        before = new_intents(page)
        assert len(before) == 5
        card = section(page, "Coarser or finer")
        assert "about 5, between 2 and 9 in nine of ten cases" in card.inner_text()
        page.focus("#resize")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        wait_for_chosen(page, "3 new intents, 2 fewer than now")
        page.wait_for_selector("button:has-text('Apply'):enabled")
        assert card.locator("li .headline:has-text('Merge into')").count() >= 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert decisions(page) == [], "a preview records nothing"
        page.focus("button:has-text('Apply')")
        page.keyboard.press("Enter")
        said(page, "3 new intents now")
        wait_for_chosen(page, "3 new intents now")
        assert len(new_intents(page)) == 3
        page.click("#undo-said")
        said(page, "Undone")
        page.wait_for_function("() => document.querySelectorAll('.new-intents a.name').length === 5")
        assert sorted(new_intents(page)) == sorted(before)
        page.wait_for_selector("#finer:not([disabled])")
        page.click("#finer")
        card.locator("li .headline:has-text('Split')").first.wait_for()
        page.click("text=Leave it as it is")
        card.locator("li .headline").first.wait_for(state="detached")
        assert all(entry["undone_by"] for entry in decisions(page))

        most = page.evaluate("document.querySelector('#resize-number').max")
        for typed, words in (
            ("10", "10 new intents, 5 more than now"),
            ("999", f"{most} new intents"),  # also beyond the end of the slider
            ("", "5 new intents now"),
        ):
            page.fill("#resize-number", typed)
            page.press("#resize-number", "Enter")
            wait_for_chosen(page, words)

        page.click("#coarser")
        page.wait_for_selector("button:has-text('Apply'):enabled")
        page.route("**/v1/review/news*", lambda route: route.abort())  # what the other person does is not seen
        version = fetched(page, "/v1/review/state")["version"]
        body = {"author": "Bo", "version": version, "decisions": [{"accept": new_intents(page)[0]}]}
        assert page.request.post(f"{address}/v1/review/decisions", data=body).ok
        page.click("button:has-text('Apply')")
        said(page, "Bo accepted")
        to_view(page, "history")
        page.wait_for_selector("td:has-text('accepted')")
        assert [entry["kind"] for entry in decisions(page) if not entry["undone_by"]] == ["accept"]
        context.close()
        assert problems == []
