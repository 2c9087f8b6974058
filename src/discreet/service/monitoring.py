"""Metrics for Prometheus: how the service does, and how busy it is.

Requests are counted together, not by route: how often people rate is told from how often they look
by nobody who has the operator's figures alone.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The numbers of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.requests = Counter(
            "discreet_requests", "Requests answered.", ["status"], registry=self.registry
        )
        self.seconds = Histogram(
            "discreet_request_seconds", "Time to answer.", buckets=_SECONDS, registry=self.registry
        )
        self.release = Gauge(
            "discreet_release", "Number of the latest release.", registry=self.registry
        )
        self.published = Gauge(
            "discreet_release_timestamp_seconds", "When it was published.", registry=self.registry
        )
        self.publishing = Gauge(
            "discreet_publishing", "1 while a publication runs.", registry=self.registry
        )
        self.publications = Counter(
            "discreet_publications", "Publications ended.", ["result"], registry=self.registry
        )

    def text(self) -> bytes:
        """In Prometheus' own format."""
        return generate_latest(self.registry)
