"""What a reviewer does again and again on the review page."""

from __future__ import annotations


def names(page):
    page.goto(page.url.split("#")[0] + "#intents")
    page.wait_for_selector(".new-intents", state="attached")  # the overview's title has the word "intents", too
    return page.locator(".new-intents a.name").all_text_contents()


def open_intent(page, name):
    page.goto(page.url.split("#")[0] + f"#intent/{name}")
    page.wait_for_selector(f"h2:has-text('{name}')")


def n_known(page):
    """The number of known intents, as the title of their part of the list says it."""
    page.wait_for_selector("details.known")
    return int(page.locator("details.known > summary").inner_text().rpartition("(")[2].rstrip(")"))


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


def to_view(page, view):
    page.goto(page.url.split("#")[0] + f"#{view}")


def press(page, key):
    """Press a key as somebody who has read what is shown: a key that comes sooner answers nothing."""
    page.wait_for_timeout(350)
    page.keyboard.press(key)


def decisions(page):
    """What was decided, oldest first, as the API returns it."""
    return page.evaluate("() => fetch('/v1/review/log').then((answer) => answer.json())")["entries"]
