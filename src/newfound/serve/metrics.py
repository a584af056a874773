"""Metrics for Prometheus. Requests are counted by route; all unknown paths are counted as one."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

ROUTES = (
    "/v1/predict",
    "/v1/intents",
    "/v1/review",
    "/v1/export",
    "/v1/estimate",
    "/v1/discover",
    "/v1/update",
    "/v1/jobs",
    "/healthz",
    "/readyz",
    "/metrics",
    "/static",
    "/login",
    "/logout",
)


class ServerMetrics:
    """The metrics of one server. Each server has its own registry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("newfound_requests", "Requests", ["route", "status"], registry=self._registry)
        self._seconds = Histogram("newfound_request_seconds", "Time to answer", ["route"], registry=self._registry)
        sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256)
        self._batches = Histogram("newfound_batch_texts", "Texts per batch", buckets=sizes, registry=self._registry)
        self._waiting = Gauge("newfound_waiting_texts", "Texts in the queue", registry=self._registry)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            path: Its path.
            status: The status of the answer.
            seconds: How long it took.
        """
        route = "/" if path == "/" else next((r for r in ROUTES if path == r or path.startswith(r + "/")), "other")
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, texts: int) -> None:
        """Count a batch by its number of texts."""
        self._batches.observe(texts)

    def watch(self, waiting: Callable[[], int]) -> None:
        """Take the function that returns how many texts are waiting."""
        self._waiting.set_function(waiting)

    def text(self) -> tuple[bytes, str]:
        """Return the metrics as Prometheus reads them, and their media type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST
