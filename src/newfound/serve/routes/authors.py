"""Who makes a decision or starts a job."""

from __future__ import annotations

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException


def author_of(request: Request, declared: str | None) -> str:
    """Return the owner of the request's token, or the declared author if all users share one token.

    Raises:
        HTTPException: With 403 if the token belongs to somebody else than the declared author.
        RequestValidationError: If neither the token nor the body names an author.
    """
    person: str | None = request.scope["state"]["person"]
    if person is None:
        if declared is None:
            raise RequestValidationError([{"type": "missing", "loc": ("body", "author"), "msg": "Field required"}])
        return declared
    if declared is not None and declared != person:
        raise HTTPException(403, f"this token belongs to {person}; leave the author out")
    return person
