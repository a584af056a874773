"""What the page must know of the server's limits and thresholds, sent with the state of the review."""

from __future__ import annotations

from pydantic import BaseModel, Field

from newfound.exports.registry import LANGUAGE_CODE
from newfound.review.decisions import MAX_COMMENT_LENGTH
from newfound.review.proposals import MIN_SEPARATION_TO_SUGGEST
from newfound.serve.schemas.requests import MAX_TEXTS_IN_A_REQUEST
from newfound.serve.settings import MAX_NAME_LENGTH

LOW_CERTAINTY = 0.8
MAX_TYPICAL_OUTLIER = 0.95
MAX_UTTERANCES_IN_A_REQUEST = 500
MAX_UTTERANCES_TO_MOVE = 2_000
MAX_QUEUE_ON_THE_PAGE = 200


class Limits(BaseModel):
    """Limits of requests, and thresholds above or below which something is pointed out to a reviewer."""

    low_certainty: float = Field(default=LOW_CERTAINTY, description="Intents that are less certain need attention")
    min_separation: float = Field(
        default=MIN_SEPARATION_TO_SUGGEST, description="Silhouette of two parts of an intent that are clearly apart"
    )
    max_typical_outlier: float = Field(
        default=MAX_TYPICAL_OUTLIER, description="Texts with a higher outlier score are unlike all intents"
    )
    max_name_length: int = Field(default=MAX_NAME_LENGTH, description="Characters of an intent's name")
    max_comment_length: int = Field(default=MAX_COMMENT_LENGTH, description="Characters of a comment")
    max_texts_to_classify: int = Field(default=MAX_TEXTS_IN_A_REQUEST, description="Texts in a request of /v1/predict")
    max_utterances_to_read: int = Field(
        default=MAX_UTTERANCES_IN_A_REQUEST, description="Utterances in a request of /v1/review/utterances"
    )
    max_utterances_to_move: int = Field(
        default=MAX_UTTERANCES_TO_MOVE, description="Utterances to move at once on the map"
    )
    max_queue: int = Field(default=MAX_QUEUE_ON_THE_PAGE, description="Utterances of the queue that the page asks for")
    language_pattern: str = Field(default=LANGUAGE_CODE.pattern, description="Regular expression of a language code")
