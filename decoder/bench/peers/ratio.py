"""How many times as fast as theirs our times are, over the tasks that both have."""

import statistics
from collections.abc import Mapping


def ratio(theirs: Mapping[str, float], ours: Mapping[str, float]) -> dict[str, float]:
    """Of times by task: `median` of the ratios task by task (side by side in time), `total` of all times together.

    >>> ratio({"a": 3.0, "b": 2.0}, {"a": 1.0, "b": 1.0, "c": 9.0})
    {'median': 2.5, 'total': 2.5}
    """
    common = theirs.keys() & ours.keys()
    if not common:
        return {}
    return {
        "median": round(statistics.median(theirs[task] / ours[task] for task in common), 3),
        "total": round(sum(theirs[task] for task in common) / sum(ours[task] for task in common), 3),
    }
