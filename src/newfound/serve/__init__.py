"""The review page and the HTTP API: one FastAPI application over one model folder (extra `serve`)."""
