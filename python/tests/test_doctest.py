"""Examples in the docstrings of the package are true, and public functions have one."""
import doctest
import importlib
import inspect
import pkgutil

import orrery
import pytest

MODULES = sorted(name for _, name, _ in pkgutil.iter_modules(orrery.__path__) if name != "_native")


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name, root, monkeypatch):
    monkeypatch.chdir(root)
    module = importlib.import_module(f"orrery.{name}")
    failed, _ = doctest.testmod(module, extraglobs={"orrery": orrery}, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failed == 0


def public_functions():
    homes = [(orrery, orrery.__all__), *((getattr(orrery, name), getattr(orrery, name).__all__) for name in ("hardware", "predict", "torch"))]
    for home, names in homes:
        for name in names:
            if inspect.isfunction(getattr(home, name)):
                yield pytest.param(getattr(home, name), id=f"{home.__name__}.{name}")


@pytest.mark.parametrize("function", public_functions())
def test_public_functions_have_an_example(function):
    assert ">>>" in (function.__doc__ or "")
