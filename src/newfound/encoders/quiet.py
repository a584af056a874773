"""Silences the progress bars and advice that other libraries print while an encoder is loaded."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quietly() -> Iterator[None]:
    """Show only errors of transformers and sentence-transformers inside the block."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import transformers
    from transformers.utils import logging as transformers_logging

    level = logging.getLogger("sentence_transformers").level
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    verbosity = transformers.logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        logging.getLogger("sentence_transformers").setLevel(level)
