"""A trace that plans are made of; a file of tests may have its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two days of jobs: a base of ten long services and a daily burst of batch jobs."""
    rows = ["id,submit,duration,cores,memory,kind"]
    rows += [f"s{i},0,172800,16,64,service" for i in range(10)]
    rows += [f"b{d}{i},{d * 86400 + 36000 + i},7200,8,32,batch" for d in range(2) for i in range(60)]
    rows += ["end,172799,1,1,4,batch"]
    path = tmp_path / "trace.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
