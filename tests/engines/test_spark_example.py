"""The example for Spark in the documents, run with plain data frames in the place of Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import newfound

pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra `ray` brings it)")
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "large-files.md"


class Frame:
    """What the example uses of a data frame of Spark, of which it is a session as well."""

    def __init__(self, *parts):
        self.parts, self.read, self.write, self.written = parts, self, self, []

    def parquet(self, path):
        self.written.append(path)
        return self

    def select(self, *columns):
        return Frame(*(part[list(columns)] for part in self.parts))

    def dropna(self):
        return Frame(*(part.dropna() for part in self.parts))

    def mapInPandas(self, function, schema):
        frames = list(function(iter(self.parts)))
        assert all(list(frame.columns) == [name.split()[0] for name in schema.split(", ")] for frame in frames)
        self.parts = frames
        return self


def test_the_example_classifies_every_row(saved):
    code = re.search(r"## Spark.*?```python\n(.*?)```", PAGE.read_text(), re.S)[1].replace("/shared/my-bot", str(saved))
    spark = Frame(
        pandas.DataFrame({"id": [1, 2], "text": ["pay bill", None]}),
        pandas.DataFrame({"id": [3], "text": ["water leak"]}),
    )
    scope = {"spark": spark}
    exec(code, scope)
    wanted = newfound.load(saved).classify(["pay bill", "water leak"])
    found = pandas.concat(scope["df"].parts)
    assert found["intent"].tolist() == [answer.intent for answer in wanted]
    assert found["probability"].tolist() == pytest.approx([answer.probability for answer in wanted], abs=1e-5)
    assert scope["df"].written == ["predictions"]
