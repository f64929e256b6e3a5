import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def data():
    return ROOT / "tests" / "data"


@pytest.fixture(scope="session")
def program():
    """The command line program that the module is compared with."""
    return os.environ.get("ORRERY", str(ROOT / "build" / "orrery"))


@pytest.fixture(scope="session")
def recording(data):
    import orrery
    return orrery.read(data / "h200" / "fake-tp8.kineto.json.gz")
