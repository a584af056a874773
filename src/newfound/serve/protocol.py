"""The HTTP connection: clients that send or read too slowly, or hold too many connections, are disconnected."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from newfound.serve.access import client_address
from newfound.serve.settings import ServeSettings

MIN_BYTES_PER_SECOND = 1_024  # that a client must read while an answer waits for it
TOO_MANY_CONNECTIONS = (
    b"HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: application/json\r\n"
    b"content-length: 48\r\n\r\n"
    b'{"detail": "too many connections of one client"}'
)


class LimitedProtocol(H11Protocol):
    """One connection of uvicorn's, with limits. `limited_protocol` sets them."""

    settings: ServeSettings
    connections_per_client: Counter[str]

    _client_key: str | None = None  # None: the connection is not counted
    _header_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _unread_bytes = 0  # when the write timer was started

    def connection_made(self, transport: Any) -> None:
        """Begin a connection, unless its client has too many."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that `pause_writing` tells of every answer that waits
        if not self.settings.behind_proxy:  # else all connections are the proxy's
            self._client_key = client_address(self.client[0] if self.client else "unknown", None)
            self.connections_per_client[self._client_key] += 1
            if self.connections_per_client[self._client_key] > self.settings.max_connections_per_client:
                transport.write(TOO_MANY_CONNECTIONS)
                transport.close()
                return
        self._start_header_timer()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        if not self._is_answering:
            self._start_header_timer()
        super().data_received(data)
        if self._is_answering:  # the headers have arrived; the middleware limits the time for the body
            self._stop_header_timer()

    def pause_writing(self) -> None:
        """Note that the client does not read as fast as the answer is written."""
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        """Note that the client has read all that waited."""
        self._stop_write_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""
        self._stop_header_timer()
        self._stop_write_timer()
        if self._client_key is not None:
            self.connections_per_client[self._client_key] -= 1
            if self.connections_per_client[self._client_key] <= 0:
                del self.connections_per_client[self._client_key]
            self._client_key = None
        super().connection_lost(exc)

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_header_timer(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self.settings.seconds_for_headers, self._headers_are_late)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _headers_are_late(self) -> None:
        self._header_timer = None
        if not self._is_answering and not self.transport.is_closing():
            self.transport.close()

    def _start_write_timer(self) -> None:
        self._unread_bytes = self.transport.get_write_buffer_size()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(self.settings.seconds_to_read, self._check_reading)

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _check_reading(self) -> None:
        """Disconnect a client that hardly reads; `close` would wait for it forever, `abort` does not."""
        n_read = self._unread_bytes - self.transport.get_write_buffer_size()
        if n_read < MIN_BYTES_PER_SECOND * self.settings.seconds_to_read:
            self._write_timer = None
            self.transport.abort()
        else:
            self._start_write_timer()


def limited_protocol(settings: ServeSettings) -> type[LimitedProtocol]:
    """Return the protocol for one server: its connections share the settings and the count of connections."""
    return type("ServerProtocol", (LimitedProtocol,), {"settings": settings, "connections_per_client": Counter()})
