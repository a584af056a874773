"""The review page and the HTTP API: one FastAPI application over one model folder (extra `serve`)."""

from __future__ import annotations

from newfound.threads import limit_threads

limit_threads()  # here, because importing anything of this package imports torch
