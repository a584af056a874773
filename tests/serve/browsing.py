"""What a reviewer does again and again on the review page."""

from __future__ import annotations


def to_view(page, view, heading=None):
    page.goto(page.url.split("#")[0] + f"#{view}")
    if heading is not None:
        page.wait_for_selector(f"h2:has-text('{heading}')")


def names(page):
    to_view(page, "intents")
    page.wait_for_selector(".new-intents", state="attached")  # the overview's title has the word "intents", too
    return page.locator(".new-intents a.name").all_text_contents()


def open_intent(page, name):
    to_view(page, f"intent/{name}", name)


def row_of(page, name):
    """The line of an intent in the list."""
    return page.locator("tr", has=page.locator("a.name").get_by_text(name, exact=True))


def section(page, title):
    """A part of the page that has a title."""
    return page.get_by_role("region", name=title)


def said(page, text):
    page.wait_for_selector(f"#said:has-text('{text}')")


def answer_dialog(page, value):
    page.fill("#ask-value", value)
    page.keyboard.press("Enter")


def accept(page, name):
    page.click(f"button[aria-label='Accept {name}']")
    said(page, f"Accepted {name}")


def press(page, key):
    """Press a key as somebody who has read what is shown: a key that comes sooner answers nothing."""
    page.wait_for_timeout(350)
    page.keyboard.press(key)


def fetched(page, path):
    """What the server answers to the page."""
    return page.evaluate("(path) => fetch(path).then((answer) => answer.json())", path)


def decisions(page):
    """What was decided, oldest first, as the API returns it."""
    return fetched(page, "/v1/review/log")["entries"]


def change_answers(page, path, change):
    """Let the page see other answers than the server gives; `change` gets an answer and changes it."""

    def answer(route):
        response = route.fetch()
        body = response.json()
        change(body)
        route.fulfill(response=response, json=body)

    page.route(path, answer)


def decide_elsewhere(page, author, *decisions):
    """Record decisions of somebody whose page is another one."""
    state = fetched(page, "/v1/review/state")
    body = {"author": author, "version": state["version"], "model": state["model"], "decisions": decisions}
    status = page.evaluate(
        """(body) => fetch('/v1/review/decisions', { method: 'POST', body: JSON.stringify(body), headers: {
          'content-type': 'application/json', 'x-csrf-token': document.querySelector('meta[name=csrf]').content } })
          .then((answer) => answer.status)""",
        body,
    )
    assert status == 200


def hear_nothing(page):
    """From now on the page hears nothing of what others decide."""
    news = fetched(page, "/v1/review/news")
    page.route("**/v1/review/news*", lambda route: route.fulfill(json=news))
