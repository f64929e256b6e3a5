"""The wheel: installs into a fresh environment without a registry, and uses no library from outside but the C library's."""
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import make_wheel
import orrery
import pytest

CALL = "import orrery; print(orrery.predict.kernel('gemm m=4096 n=4096 k=4096 bf16', gpu='H100')['time_s'] > 0)"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    package = pathlib.Path(orrery.__file__).parent
    return make_wheel.make_wheel(package, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The Python of a fresh environment that has the wheel and nothing else."""
    pytest.importorskip("ensurepip", reason="python3-venv is not installed")
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, env=bare())
    python = folder / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(wheel)], check=True, env=bare())
    return python


def bare():
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}


def said(python, script, folder):
    done = subprocess.run([str(python), "-c", script], capture_output=True, text=True, cwd=folder, env=bare())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_installed_package_works(installed, tmp_path):
    assert said(installed, CALL, tmp_path) == "True"
    assert said(installed, "import orrery; print(orrery.__version__)", tmp_path) == make_wheel.version()


def test_libraries_come_from_the_wheel(installed, tmp_path):
    module = said(installed, "import orrery._native; print(orrery._native.__file__)", tmp_path)
    libraries = pathlib.Path(module).parent.parent / make_wheel.LIBRARIES
    places = re.findall(r"(\S+) => (\S+)", subprocess.run(["ldd", module], capture_output=True, text=True, env=bare()).stdout)
    ours = {name: pathlib.Path(place) for name, place in places if not make_wheel.OF_LIBC.fullmatch(name)}
    assert ours and {place.parent.resolve() for place in ours.values()} == {libraries.resolve()}
    assert set(ours) == {path.name for path in libraries.iterdir()}


def test_the_names_and_hashes_are_those_of_the_standard(wheel):
    assert re.fullmatch(r"orrery-[\d.]+-cp3\d+-cp3\d+t?-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    record = next(name for name in files if name.endswith("/RECORD"))
    assert files.pop(record) == make_wheel.record_of(files, record)
    assert any(name.endswith("/METADATA") for name in files) and "orrery/py.typed" in files and "orrery/torch.py" in files


def test_every_library_and_all_that_is_compiled_in_has_its_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        notice = next(archive.read(name).decode() for name in names if name.endswith("/licenses/NOTICE"))
    licences = {name.rsplit("/", 1)[1] for name in names if "/licenses/" in name}
    libraries = [name.rsplit("/", 1)[1] for name in names if name.startswith(f"{make_wheel.LIBRARIES}/")]
    module = make_wheel.native_module(pathlib.Path(orrery.__file__).parent)
    places = make_wheel.needed_libraries(module)
    assert libraries and all(make_wheel.package_of(places[name]) in licences for name in libraries)
    assert {"libcli11-dev", "libeigen3-dev", "pybind11-dev"} <= licences
    assert "Leon Sorokin" in notice


def test_a_library_without_a_licence_is_refused():
    with pytest.raises(make_wheel.WheelError, match="the licence of libunknown.so is not found"):
        make_wheel.licence_of(None, "libunknown.so")


def test_the_same_files_give_the_same_bytes(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}
    make_wheel.write_wheel(tmp_path / wheel.name, dict(reversed(list(files.items()))))
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_a_package_without_its_module_is_refused(tmp_path):
    with pytest.raises(make_wheel.WheelError, match="make python"):
        make_wheel.make_wheel(tmp_path, tmp_path)


def test_versions_agree(root):
    found = re.search(r'^version = "([\d.]+)"', (root / "pyproject.toml").read_text(), re.MULTILINE)
    assert found.group(1) == make_wheel.version()
