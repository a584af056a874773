"""The plain text of a message: without markup, quoted replies, greetings, signatures and footers.

Only what is marked up or has several lines is changed, so that an utterance of one line stays as it is. If nothing
would be left, the message stays whole.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib import resources

from newfound.text import is_wordless

TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|body|br|center|code|dd|div|dl|dt|em|font|footer|h[1-6]|head|header|hr|html|i|img|li|"
    r"meta|o:p|ol|p|pre|q|s|section|small|span|strike|strong|style|sub|sup|table|tbody|td|th|thead|title|tr|u|ul)"
    r"(?:\s[^<>]*|\s*/)?>|<!--|<!doctype\b|&(?:[a-z]{2,8}|#\d{1,6}|#x[0-9a-f]{1,5});",
    re.IGNORECASE,
)
ENDS_LINE = frozenset("blockquote br div dd dt h1 h2 h3 h4 h5 h6 hr li p pre table td th title tr ul ol".split())
UNSEEN = frozenset("head script style title".split())
QUOTE_OF_PROGRAM = re.compile(
    r"gmail_quote|gmail_attr|yahoo_quoted|moz-cite|divrplyfwdmsg|appendonsend|protonmail_quote"
)

PHRASES: dict[str, list[str]] = json.loads(resources.files("newfound").joinpath("plain.json").read_text("utf-8"))
"""What stands around the words of a mail in several languages, as regular expressions; `wishes` say that it is more."""
WROTE, FORWARDED, FROM, HEADERS, SUBJECTS, GREETINGS, SIGN_OFFS, SENT_FROM, ASKS, FOOTERS = (
    "|".join(PHRASES[name])
    for name in "wrote forwarded from headers subject greetings sign_offs sent_from wishes footers".split()
)
NAMES_OF_ALL = frozenset(PHRASES["names_of_all"])
QUOTED = re.compile(
    rf"^[^\w\n]{{0,20}}(?:on|am|le|el|il|op|em)\b[^\n]{{4,200}}(?:\n[^\n]{{0,100}})?\b(?:{WROTE})\b[^\n]{{0,80}}:\s*$"
    rf"|^[^\w\n]{{0,20}}-{{2,}}[^\n]{{0,10}}\b(?:{FORWARDED})\b[^\n]{{0,40}}$"
    rf"|^_{{10,}}$|^[^\w\n]{{0,20}}(?:{FROM}):[^\n]*\n(?:[^\n]*\n){{0,2}}[^\w\n]{{0,20}}(?:{HEADERS}):",
    re.IGNORECASE | re.MULTILINE,
)
HEADER = re.compile(rf"^[^\w\n]{{0,20}}(?:{FROM}|{HEADERS}):", re.IGNORECASE)
SUBJECT = re.compile(rf"^[^\w\n]{{0,20}}(?:{SUBJECTS}):\s*(?:(?:re|aw|fwd?|wg|tr|sv)\s*:\s*)*", re.IGNORECASE)
GREETING = re.compile(rf"^(?:{GREETINGS})\b(?:[ \t]+[^\s?]+){{0,5}}$", re.IGNORECASE)
WISHES = re.compile(rf"\b(?:{ASKS})\b", re.IGNORECASE)
SIGN_OFF = re.compile(rf"^(?:{SIGN_OFFS})\b(?:[ \t,]+[^\s?]+){{0,5}}[ \t,.!]*$|^--\s*$|^(?:{SENT_FROM})", re.IGNORECASE)
FOOTER = re.compile(FOOTERS, re.IGNORECASE)
MAX_LINES_OF_SIGNATURE, LONG_LINE = 10, 80


def plain_paragraphs(message: str) -> list[str]:
    """Return what a person wrote in a message, in paragraphs of one line each; at least one, if it is not blank."""
    text = _without_markup(message) if TAG.search(message) else message
    paragraphs = _paragraphs(_own_lines(text)) if "\n" in text.strip() else [text.strip()]
    told = any(not is_wordless(p) for p in paragraphs)
    return paragraphs if told else _paragraphs(text.splitlines()) or [message.strip()]


def plain_text(message: str) -> str:
    """Return what a person wrote in a message, on one line."""
    return " ".join(plain_paragraphs(message))


def _own_lines(text: str) -> list[str]:
    """Return the lines of a text without what is quoted, and without greeting, signature and footers."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    lines = [line.strip() for line in _before_quotes(text).split("\n") if not line.lstrip().startswith(">")]
    first = next((i for i, line in enumerate(lines) if line), len(lines))
    if first < len(lines) and _is_greeting(lines[first]):
        lines[first] = ""
    return [line for line in lines[: _begin_of_signature(lines)] if not _is_footer(line)]


def _is_greeting(line: str) -> bool:
    """Return whether a line greets and says nothing else: names follow, or a comma ends it."""
    if WISHES.search(line) or not GREETING.match(line.rstrip(" ,!.:;-–")):
        return False
    others = line.rstrip(" ,!.:;-–").split()[1:]
    return line.endswith((",", "!", ":")) or all(w[0].isupper() or w.lower() in NAMES_OF_ALL for w in others)


def _is_footer(line: str) -> bool:
    return FOOTER.search(line) is not None and WISHES.search(line) is None


def _begin_of_signature(lines: list[str]) -> int:
    """Return the line with which a signature begins, after the first; the number of lines if there is none."""
    begin, n_after = len(lines), 0
    for i in reversed([i for i, line in enumerate(lines) if line][1:]):
        if SIGN_OFF.match(lines[i]) and not WISHES.search(lines[i]):
            begin = i
        if not _is_footer(lines[i]):
            n_after += 1
            if n_after > MAX_LINES_OF_SIGNATURE or len(lines[i]) > LONG_LINE:
                break
    return begin


def _before_quotes(text: str) -> str:
    """Return a text up to the first quoted message, without the headers of a mail above it but with its subject."""
    lines = text.split("\n")
    count = next((i for i, line in enumerate(lines) if not HEADER.match(line)), len(lines))
    subject = [SUBJECT.sub("", line) for line in lines[:count] if SUBJECT.match(line)]
    own = "\n".join([*subject, "", *lines[count:]] if count > 1 or subject else lines)
    quoted = QUOTED.search(own)
    return own if quoted is None or is_wordless(own[: quoted.start()]) else own[: quoted.start()]


def _paragraphs(lines: list[str]) -> list[str]:
    """Join the lines between empty ones."""
    joined = "\n".join(line.strip() for line in lines)
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", joined) if paragraph.strip()]


def _without_markup(message: str) -> str:
    reader = _Reader()
    reader.feed(message)
    reader.close()
    texts = ("".join(reader.own), "".join(reader.all), message)
    return next((text for text in texts if text.strip()), message)


class _Reader(HTMLParser):
    """Collects the text of HTML, with line ends: all of it, and what is not quoted."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[str] = []
        self.own: list[str] = []
        self._unseen = self._quotes = 0
        self._is_over = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in UNSEEN:
            self._unseen += 1
        if tag == "body":  # the end of the head may be left out
            self._unseen = 0
        if tag == "blockquote":
            self._quotes += 1
        self._is_over |= any(
            QUOTE_OF_PROGRAM.search((value or "").lower()) for name, value in attrs if name in ("class", "id")
        )
        self._end_line(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in UNSEEN:
            self._unseen = max(self._unseen - 1, 0)
        if tag == "blockquote":
            self._quotes = max(self._quotes - 1, 0)
        self._end_line(tag)

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._add(data)

    def _end_line(self, tag: str) -> None:
        if tag in ENDS_LINE:
            self._add("\n\n" if tag == "p" else "\n")

    def _add(self, text: str) -> None:
        self.all.append(text)
        if not self._quotes and not self._is_over:
            self.own.append(text)
