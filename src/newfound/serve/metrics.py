"""Metrics for Prometheus. Requests are counted by route; all unknown paths are counted as one."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest


def route_of(path: str) -> str:
    """Return the name under which a path is counted: its first part, or its first two under /v1/."""
    return "/".join(path.split("/")[: 3 if path.startswith("/v1/") else 2])


class ServerMetrics:
    """The metrics of one server. Each server has its own registry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("newfound_requests", "Requests", ["route", "status"], registry=self._registry)
        self._seconds = Histogram("newfound_request_seconds", "Time to answer", ["route"], registry=self._registry)
        sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256)
        self._batches = Histogram("newfound_batch_texts", "Texts per batch", buckets=sizes, registry=self._registry)
        self._waiting = Gauge("newfound_waiting_texts", "Texts in the queue", registry=self._registry)
        self._count_waiting: Callable[[], int] = lambda: 0
        self.routes: set[str] = set()  # all other paths are counted as one

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request by its path; one of no known route is counted as "other"."""
        route = route_of(path) if route_of(path) in self.routes else "other"
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, texts: int) -> None:
        """Count a batch by its number of texts."""
        self._batches.observe(texts)
        self._waiting.set(self._count_waiting())

    def watch(self, waiting: Callable[[], int]) -> None:
        """Take the function that returns how many texts are waiting."""
        self._count_waiting = waiting

    def text(self) -> tuple[bytes, str]:
        """Return the metrics as Prometheus reads them, and their media type."""
        self._waiting.set(self._count_waiting())
        return generate_latest(self._registry), CONTENT_TYPE_LATEST
