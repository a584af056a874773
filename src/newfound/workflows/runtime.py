"""What every workflow computes with: the device, the precision, the encoder, and who is told the progress."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from newfound.defaults import DEVICE, PRECISION, Precision
from newfound.encoders.precision import check_precision
from newfound.errors import NoInt8
from newfound.paths import feature_cache_dir
from newfound.training.devices import check_device
from newfound.training.launch import current_launch
from newfound.training.progress import LoggingReporter, NullReporter, Reporter

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a workflow computes with.

    Attributes:
        reporter: Is told the progress and what is unusual.
        encoder: A short name, a folder, owner/name on the hub, or a loaded encoder; None is the one of the model.
        device: auto, cpu or cuda.
        precision: fp32, or int8 for a frozen encoder on a CPU.
    """

    reporter: Reporter
    encoder: str | Encoder | None = None
    device: str = DEVICE
    precision: Precision = PRECISION

    @classmethod
    def of(cls, request: Any, reporter: Reporter | None) -> Runtime:
        """Return what a request is computed with, or refuse what cannot work on this machine.

        Args:
            request: The request; those of its fields that are called as attributes of this class are taken.
            reporter: Is told the progress; None tells it to the logger `newfound`.
        """
        chosen = {name: getattr(request, name) for name in ("encoder", "device", "precision") if hasattr(request, name)}
        runtime = cls(reporter_of_main(reporter), **chosen)
        check_device(runtime.device)
        check_precision(runtime.precision, runtime.device)
        if runtime.device == "auto" and runtime.precision == "int8":  # which runs on the CPU, also beside a GPU
            return replace(runtime, device="cpu")
        return runtime

    def load_encoder(self) -> Encoder:
        """Return the encoder with the user's feature cache, loaded if it is given by its name."""
        from newfound.encoders.cache import FeatureCache
        from newfound.encoders.encoder import Encoder, load_encoder

        assert self.encoder is not None
        if isinstance(self.encoder, str):
            return load_encoder(self.encoder, cache=FeatureCache(feature_cache_dir()))
        cached = with_cache(self.encoder)
        assert isinstance(cached, Encoder)
        return cached

    def encoder_to_fit(self, tune: str) -> str | Encoder:
        """Return the encoder with the user's feature cache and in the precision.

        Args:
            tune: What trains; only a frozen encoder can be int8.
        """
        assert self.encoder is not None
        if self.precision == "fp32":
            return with_cache(self.encoder)
        if tune not in ("auto", "heads"):
            raise NoInt8(training=True)
        return self.load_encoder().with_precision(self.precision)


def reporter_of_main(reporter: Reporter | None) -> Reporter:
    """Return who is told the progress: of several processes that work together, only the main one tells it."""
    return reporter or LoggingReporter() if current_launch().is_main else NullReporter()


def with_cache(encoder: str | Encoder) -> str | Encoder:
    """Return the encoder with the user's feature cache, so that what was encoded before is not encoded again."""
    if isinstance(encoder, str) or encoder.cache is not None:
        return encoder
    from newfound.encoders.cache import FeatureCache

    cached = copy(encoder)  # the weights are shared; predictions go on without a cache
    cached.cache = FeatureCache(feature_cache_dir())
    return cached
