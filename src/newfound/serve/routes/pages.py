"""The review page with its script and style, the login and the logout."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from newfound.report.page import render_page
from newfound.review.session import MAX_POSITION
from newfound.serve.middleware import GuardMiddleware
from newfound.serve.service import Service

MAX_LOGIN_BYTES = 4_096
LOGIN_SCRIPT = "login.js"
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css"}
KEPT_FOR_EVER = {"cache-control": "max-age=31536000, immutable"}
STATIC_FOLDERS = (("newfound.serve", "static"), ("newfound.report", "shared"))  # the report is made of the second, too


def add_routes(app: FastAPI, service: Service, guard: GuardMiddleware) -> None:
    files = resources.files("newfound.serve")
    folders = [resources.files(package).joinpath(folder) for package, folder in STATIC_FOLDERS]
    static = {
        file.name: (file.read_bytes(), f"{MEDIA_TYPES[suffix]}; charset=utf-8")
        for folder in folders
        for file in folder.iterdir()
        if (suffix := Path(file.name).suffix) in MEDIA_TYPES
    }
    contents = repr(sorted(static.items())).encode()
    place = f"/static/{hashlib.blake2b(contents, digest_size=8).hexdigest()}"  # other contents have another address
    shows_path = service.settings.is_local and not service.settings.behind_proxy  # to nobody on another machine

    def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
        from jinja2 import Environment

        source = files.joinpath(template).read_text("utf-8")
        return HTMLResponse(Environment(autoescape=True).from_string(source).render(static=place, **values), status)

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        return render(
            "page.html.jinja",
            title=service.session.folder.name,
            path=service.session.folder.resolve() if shows_path else "",
            csrf=guard.csrf,
            person=request.scope["state"]["person"],
            has_token=bool(service.settings.token),
            modules=[name for name in static if name.endswith(".js") and name != LOGIN_SCRIPT],
        )

    @app.get(f"{place}/{{name}}", include_in_schema=False)
    async def static_file(name: str) -> Response:
        if name not in static:
            raise HTTPException(404)
        content, media_type = static[name]
        return Response(content, media_type=media_type, headers=KEPT_FOR_EVER)

    @app.get("/report", include_in_schema=False)
    def report() -> Response:
        session = service.session
        layout = session.layout(wait=False)[0] / MAX_POSITION
        content = render_page(session.view().reviewed, title=session.folder.name, layout=layout)
        return HTMLResponse(content, headers={"content-disposition": 'attachment; filename="report.html"'})

    @app.get("/login", include_in_schema=False)
    async def login_page() -> Response:
        return render("login.html.jinja", problem="")

    @app.post("/login", include_in_schema=False)
    async def log_in(request: Request) -> Response:
        form = (await request.body())[:MAX_LOGIN_BYTES].decode("utf-8", "replace")
        try:
            person = guard.check_token(request, parse_qs(form).get("token", [""])[0].strip())
        except HTTPException as refused:
            problem = f"{refused.detail[:1].upper()}{refused.detail[1:]}."
            answer: Response = render("login.html.jinja", refused.status_code, problem=problem)
            answer.headers.update(refused.headers or {})
            return answer
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(
            guard.cookie,
            guard.sessions.begin(person),
            httponly=True,
            samesite="strict",
            secure=guard.is_over_tls(request),
        )
        return answer

    @app.post("/logout", include_in_schema=False)
    async def log_out(request: Request) -> Response:
        guard.sessions.end(guard.session_key(request))
        answer = JSONResponse({"status": "logged out"})
        answer.delete_cookie(guard.cookie, httponly=True, samesite="strict", secure=guard.is_over_tls(request))
        return answer
