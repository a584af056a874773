"""The review page, its files and the login."""

from __future__ import annotations

import asyncio
from importlib import resources
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from newfound.exports.registry import EXPORTS
from newfound.serve.middleware import GuardMiddleware
from newfound.serve.service import Service

MAX_LOGIN_BYTES = 4_096


def add_routes(app: FastAPI, service: Service, guard: GuardMiddleware) -> None:
    files = resources.files("newfound.serve")
    static = {
        "app.js": (files.joinpath("static/app.js").read_bytes(), "text/javascript; charset=utf-8"),
        "app.css": (files.joinpath("static/app.css").read_bytes(), "text/css; charset=utf-8"),
    }

    def rendered(template: str, **content: Any) -> HTMLResponse:
        from jinja2 import Environment

        source = files.joinpath(template).read_text("utf-8")
        return HTMLResponse(Environment(autoescape=True).from_string(source).render(**content))

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        title = service.session.folder.name
        return rendered("page.html.jinja", title=title, csrf=guard.csrf, formats=tuple(EXPORTS))

    @app.get("/static/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in static:
            raise HTTPException(404)
        content, kind = static[name]
        return Response(content, media_type=kind)

    @app.get("/login", include_in_schema=False)
    async def login_page() -> HTMLResponse:
        return rendered("login.html.jinja", wrong=False)

    @app.post("/login", include_in_schema=False)
    async def login(request: Request) -> Response:
        body = (await request.body())[:MAX_LOGIN_BYTES].decode("utf-8", "replace")
        given = parse_qs(body, max_num_fields=10).get("token", [""])[0].strip() if body.count("&") < 10 else ""
        if not guard.is_token(given):
            await asyncio.sleep(0.5)
            return rendered("login.html.jinja", wrong=True)
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(guard.cookie, guard.begin_session(), httponly=True, samesite="strict")
        return answer
