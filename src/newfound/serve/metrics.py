"""Metrics for Prometheus. Requests are counted by route; all that reach none are counted as one."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope


class ServerMetrics:
    """The metrics of one server. Each server has its own registry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("newfound_requests", "Requests", ["route", "status"], registry=self._registry)
        self._seconds = Histogram("newfound_request_seconds", "Time to answer", ["route"], registry=self._registry)
        self.waiting = Gauge("newfound_waiting_texts", "Texts in the queue", registry=self._registry)

    def count_request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request by its route; one that was refused before, or that has none, is counted as "other"."""
        route = scope["route"].path if "route" in scope else "other"
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> tuple[bytes, str]:
        """Return the metrics as Prometheus reads them, and their media type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST
