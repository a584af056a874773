"""Predictions in Spark: a function for `DataFrame.mapInPandas`.

function, schema = predict_in_pandas("my-bot", text_column="text", keep=df.dtypes)
df.mapInPandas(function, schema).write.parquet("predictions")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from newfound.engines.parts import kept_names
from newfound.engines.predictor import PredictionLimits, Predictor, PredictorSettings
from newfound.errors import ColumnMissing, SettingsError

if TYPE_CHECKING:
    from pandas import DataFrame

TYPES = {
    "intent": "string",
    "known": "boolean",
    "probability": "double",
    "outlier": "double",
    "status": "string",
    "top": "array<struct<intent:string,probability:double>>",
}


def predict_in_pandas(
    model: str | Path,
    *,
    text_column: str = "text",
    keep: Iterable[tuple[str, str]] | None = None,
    encoder: str | None = None,
    device: str = "cpu",
    top: int = 0,
    max_outliers: float | None = None,
    threshold: float | None = None,
    fallback: str | None = None,
) -> tuple[Callable[[Iterator[DataFrame]], Iterator[DataFrame]], str]:
    """Return a function for `mapInPandas`, and the schema of its result.

    Each Python worker of Spark loads the model once and keeps it for all its partitions. Rows stay as they are and gain
    the columns intent, known, probability, outlier and status; those without text have no intent and no probability.

    Args:
        model: The model folder, at a path that all workers see.
        text_column: The column of the utterances.
        keep: Names and types of the columns to keep, as `DataFrame.dtypes` of Spark has them; by default only the text.
            One whose name a column of the predictions has is written with `input_` before it.
        encoder: Where the model's encoder lies, if it cannot be found.
        device: auto, cpu or cuda.
        top: How many of the most probable intents each row holds, in the column `top`.
        max_outliers: As in `newfound.predict`.
        threshold: As in `newfound.predict`.
        fallback: As in `newfound.predict`.

    Raises:
        SettingsError: A setting cannot work.
        ModelError: There is no such model.
    """
    from newfound.model.about import describe

    folder = str(Path(model).resolve())
    describe(folder)  # a wrong path is noticed here and not on a worker
    settings = PredictorSettings(encoder, device, top, PredictionLimits(max_outliers, threshold, fallback))
    settings.check()
    kept = [(text_column, "string")] if keep is None else [(str(name), str(type)) for name, type in keep]
    names = [name for name, _ in kept]
    if len(set(names)) != len(names):
        raise SettingsError("a column to keep stands there twice; rename one of them")
    new_names = kept_names(names, identify=False)
    columns = [name for name in TYPES if name != "top" or top]
    fields = [
        *((new, type) for new, (_, type) in zip(new_names, kept, strict=True)),
        *((name, TYPES[name]) for name in columns),
    ]

    def predict(frames: Iterator[DataFrame]) -> Iterator[DataFrame]:
        predictor = _predictor(folder, settings)
        for frame in frames:
            yield _with_predictions(frame, predictor, text_column, names, new_names)

    return predict, ", ".join(f"`{name.replace('`', '``')}` {type}" for name, type in fields)


def _with_predictions(
    frame: DataFrame, predictor: Predictor, text_column: str, names: Sequence[str], new_names: Sequence[str]
) -> DataFrame:
    import pandas

    for name in (text_column, *names):
        if name not in frame.columns:
            raise ColumnMissing("the data frame", name, "text", list(map(str, frame.columns)))
    texts = [text if isinstance(text, str) else None for text in frame[text_column]]
    kept = frame[list(names)].set_axis(list(new_names), axis=1)
    answers = pandas.DataFrame(predictor(texts), index=frame.index, dtype=object)
    return pandas.concat([kept, answers], axis=1)


@lru_cache(maxsize=2)
def _predictor(folder: str, settings: PredictorSettings) -> Any:
    """Return the predictor of this process; Spark uses its Python workers again for other partitions."""
    return Predictor(folder, settings)
