"""Print what `newfound discover --effort quick` needs by the size of the logs, as Markdown, from the result files.

python -m benchmarks.scale.table
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent

print("| utterances in the logs | on | minutes | memory |")
print("|---|---|---|---|")
for name in ("scale-cpu.json", "scale-cuda.json"):
    content = json.loads((HERE / name).read_text("utf-8"))
    for run in content["runs"]:
        memory = max(run["peak_gb"][stage] for stage in ("read", "encode", "discover", "save"))
        hardware = content["hardware"].replace("x86_64, ", "")
        print(f"| {run['logs']:,} | {hardware} | {run['seconds'] / 60:.1f} | {memory:.1f} GB |")
