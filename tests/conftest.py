"""Fixtures that several rooms share."""

import os
from pathlib import Path

import hypothesis
import pytest

from decoder.models.catalog import STARTER
from decoder.models.store import ModelStore, ModelStoreError

# A busy machine is no reason to fail: examples may take as long as they need.
hypothesis.settings.register_profile(
    "draftline", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("draftline")

TASKS = Path(__file__).resolve().parent.parent.parent / "shared" / "tasks" / "dev"


@pytest.fixture(scope="session")
def starter_folder() -> Path:
    """The pulled starter model; `make test` pulls it first."""
    try:
        return ModelStore().path(STARTER)
    except ModelStoreError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def tasks_folder() -> Path:
    """The evaluation tasks beside the checkout."""
    if not TASKS.is_dir():
        pytest.skip(f"needs the evaluation tasks in {TASKS.parent.parent.name}/tasks/dev beside the checkout")
    return TASKS
