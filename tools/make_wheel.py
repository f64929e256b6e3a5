#!/usr/bin/env python3
"""Makes a wheel of the Python package, with the shared libraries that it needs.

    tools/make_wheel.py [--package build/python/orrery] [--out build/wheel]

Prints the path of the wheel. Libraries other than the C library's are copied into `orrery.libs` beside the package, where the
compiled module looks first (python/CMakeLists.txt). The licences of these and of all that is compiled in are part of the wheel. It fits one version of
Python, the kind of this machine's processor, and C libraries that are not older than this machine's. The same files give the
same bytes.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import list_licences

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = "orrery.libs"
SEARCHED = f"$ORIGIN/../{LIBRARIES}"
# Of the C library: they belong to the kernel and the loader of the machine.
OF_LIBC = re.compile(r"(ld-linux.*|lib(c|m|pthread|dl|rt|resolv|util|anl|mvec|nsl|nss_.*|thread_db)\.so.*)")
EARLIEST = (1980, 1, 1, 0, 0, 0)


class WheelError(Exception):
    """One sentence for the user."""


def said(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0:
        raise WheelError(f"{words[0]} failed: {done.stderr.strip()}")
    return done.stdout


def native_module(package):
    found = sorted(package.glob("_native.cpython-*.so"))
    if len(found) != 1:
        raise WheelError(f"{package} has {len(found)} compiled modules instead of one: run `make python`")
    return found[0]


def tag_of(module):
    """`cp311-cp311-linux_aarch64` from `_native.cpython-311-aarch64-linux-gnu.so`."""
    found = re.fullmatch(r"_native\.cpython-(\d+t?)-(\w+)-linux-gnu\.so", module.name)
    if not found:
        raise WheelError(f"{module.name} is not the name of a module for Linux with glibc")
    python, processor = found.groups()
    return f"cp{python.rstrip('t')}-cp{python}-linux_{processor}"


def check_search_path(module):
    for line in said("readelf", "-d", str(module)).splitlines():
        if "(RPATH)" in line and SEARCHED in line:
            return
    raise WheelError(f"{module} does not look for libraries in {SEARCHED} (DT_RPATH): build it again")


def needed_libraries(module):
    """{name: path} of what the module needs, with what that needs, without the C library."""
    libraries = {}
    for line in said("ldd", str(module)).splitlines():
        name, arrow, place = line.strip().partition(" => ")
        if not arrow or OF_LIBC.fullmatch(name):
            continue
        if place.startswith("not found"):
            raise WheelError(f"{name}, which {module.name} needs, is not on this machine")
        libraries[name] = pathlib.Path(place.split(" (")[0])
    return libraries


def check_own_path(path):
    """A library with a path of its own (DT_RUNPATH) would not find the others beside it."""
    if "(RUNPATH)" in said("readelf", "-d", str(path)):
        raise WheelError(f"{path} has a path of its own for its libraries, so it cannot be put into a wheel")


def package_of(path):
    """The Debian package that a library is from; None where there is none."""
    real = path.resolve()
    for one in (real, pathlib.Path(str(real).replace("/usr/lib/", "/lib/", 1))):
        try:
            return said("dpkg-query", "-S", str(one)).split(":")[0]
        except (WheelError, FileNotFoundError):
            continue
    return None


def licence_of(package, what):
    """The text that Debian has of a package's licence. A wheel without it must not be passed on, so that there is none."""
    text = pathlib.Path("/usr/share/doc") / (package or "") / "copyright"
    if not package or not text.is_file():
        raise WheelError(f"the licence of {what} is not found: make the wheel on Debian or Ubuntu, with the packages of packages.txt")
    return text.read_bytes()


def compiled_in():
    """Packages whose headers become part of the module."""
    dependencies = list_licences.declared((ROOT / list_licences.LIST).read_text(encoding="utf-8"))
    return [one.package for one in dependencies if one.use == "header-only"]


def without_debug_information(path, folder):
    copy = pathlib.Path(folder) / path.name
    shutil.copyfile(path, copy)
    said("strip", "--strip-debug", str(copy))
    return copy.read_bytes()


def version():
    return re.search(r"project\(orrery VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def metadata():
    return (f"Metadata-Version: 2.1\nName: orrery\nVersion: {version()}\nSummary: Records, explains and predicts machine-learning training\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: pandas\n"
            "Requires-Dist: pandas; extra == 'pandas'\nProvides-Extra: progress\nRequires-Dist: tqdm; extra == 'progress'\n"
            f"Description-Content-Type: text/markdown\n\n{(ROOT / 'docs' / 'python.md').read_text()}")


def contents(package):
    """{name in the wheel: bytes}, without its RECORD."""
    module = native_module(package)
    check_search_path(module)
    information = f"orrery-{version()}.dist-info"
    files = {f"{information}/METADATA": metadata().encode(),
             f"{information}/WHEEL": f"Wheel-Version: 1.0\nGenerator: orrery\nRoot-Is-Purelib: false\nTag: {tag_of(module)}\n".encode(),
             f"{information}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
             f"{information}/licenses/NOTICE": (ROOT / "NOTICE").read_bytes()}
    for path in package.rglob("*"):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            files[f"orrery/{path.relative_to(package).as_posix()}"] = path.read_bytes()
    with tempfile.TemporaryDirectory() as scratch:
        files[f"orrery/{module.name}"] = without_debug_information(module, scratch)
        for name, path in needed_libraries(module).items():
            check_own_path(path)
            files[f"{LIBRARIES}/{name}"] = without_debug_information(path, scratch)
            package_name = package_of(path)
            files[f"{information}/licenses/{package_name}"] = licence_of(package_name, path)
    for package_name in compiled_in():
        files[f"{information}/licenses/{package_name}"] = licence_of(package_name, package_name)
    return files


def record_of(files, name):
    lines = []
    for path, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{name},,", ""]).encode()


def write_wheel(path, files):
    record = f"orrery-{version()}.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in [*sorted(files.items()), (record, record_of(files, record))]:
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            wheel.writestr(entry, data)


def make_wheel(package, out):
    files = contents(package)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"orrery-{version()}-{tag_of(native_module(package))}.whl"
    part = path.with_suffix(".part")
    write_wheel(part, files)
    os.replace(part, path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build" / "python" / "orrery")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "wheel")
    arguments = parser.parse_args()
    try:
        print(make_wheel(arguments.package, arguments.out))
    except (WheelError, OSError) as error:
        sys.exit(f"make_wheel: {error}")


if __name__ == "__main__":
    main()
