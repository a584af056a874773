"""Keep the loading chatter of other libraries (progress bars, advice) out of our output."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quietly() -> Iterator[None]:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import transformers
    from transformers.utils import logging as transformers_logging

    before = logging.getLogger("sentence_transformers").level
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    level = transformers.logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        logging.getLogger("sentence_transformers").setLevel(before)
