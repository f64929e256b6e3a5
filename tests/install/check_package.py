#!/usr/bin/env python3
"""Makes both packages and runs the program of each where there is nothing else.

    tests/install/check_package.py --build build

A root is a folder with the files of the package, the libraries that they ask for, and a job. dpkg installs the .deb into one of its own.
Ends with 77 where this user may not change the root (chroot).
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from commands import ROOT, expect, run, said

JOB = ROOT / "examples" / "llama3-8b-fsdp-64-h100.yaml"
COMMAND = ("simulate", "/job.yaml", "--step-only", "--json")



# --- Roots


def chroot_command():
    """The words that run a program in another root; None where that is not permitted."""
    for words in (["chroot"], ["unshare", "--map-root-user", "chroot"]):
        if shutil.which(words[0]) and subprocess.run([*words, "/", "/bin/true"], capture_output=True, check=False).returncode == 0:
            return words
    return None


def libraries_of(program):
    """Paths of all shared libraries that a program loads, and of its loader."""
    lines = said("ldd", program).splitlines()
    missing = [line.strip() for line in lines if "not found" in line]
    expect(not missing, f"{program}: {missing}")
    return [pathlib.Path(path) for line in lines for path in re.findall(r"(/\S+) \(0x", line)]


def add_libraries(root, program):
    for path in libraries_of(program):
        place = root / path.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        place.chmod(0o755)


def check_root(root, program, words, expected):
    """The program, with an empty environment and no file but those of the root, says what the built one says."""
    add_libraries(root, root / program)
    shutil.copyfile(JOB, root / "job.yaml")
    done = said("env", "-i", *(shutil.which(words[0]), *words[1:]), root, f"/{program}", *COMMAND)
    expect(json.loads(done) == expected, f"{program} says something else in a clean root")


# --- Packages


def installed_by_dpkg(package, root):
    """Of its own database, which knows no other package; hence --force-depends."""
    database = root / "var" / "lib" / "dpkg"
    for folder in ("info", "updates", "triggers"):
        (database / folder).mkdir(parents=True)
    (database / "status").touch()
    (database / "available").touch()
    said("dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--force-script-chrootless", "--install", package,
         env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"})
    return root


def check_fields(package, version):
    fields = dict(re.findall(r"^([\w-]+): (.*)$", said("dpkg-deb", "--field", package), re.MULTILINE))
    expect(fields["Version"] == version, f"{package.name} has version {fields['Version']}, not {version}")
    for name in ("libc6", "libfmt", "libxgboost"):
        expect(name in fields.get("Depends", ""), f"{package.name} does not depend on {name}: {fields.get('Depends')}")
    owners = {line.split()[1] for line in said("dpkg-deb", "--contents", package).splitlines()}
    expect(owners == {"root/root"}, f"files of {package.name} belong to {owners}")


def is_stripped(path):
    return ".debug_info" not in said("readelf", "--sections", "--wide", path)


def only(folder, pattern):
    found = list(folder.glob(pattern))
    expect(len(found) == 1, f"cpack made {found} instead of one {pattern}")
    return found[0]


def check(build, scratch):
    said("cpack", "--config", build / "CPackConfig.cmake", "-B", scratch / "packages", cwd=scratch)
    deb, archive = only(scratch / "packages", "*.deb"), only(scratch / "packages", "*.tar.gz")
    version = re.search(r"project\(orrery VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
    check_fields(deb, version)
    expect(version in archive.name, f"the name of {archive.name} lacks the version")

    said("dpkg-deb", "--extract", deb, scratch / "deb")
    for name in ("bin/orrery", f"lib/liborrery.so.{version}"):
        expect(is_stripped(scratch / "deb" / "usr" / name), f"{name} of {deb.name} has information for debuggers")
    expected = json.loads(said(build / "orrery", COMMAND[0], JOB, *COMMAND[2:]))
    done = said(scratch / "deb" / "usr" / "bin" / "orrery", COMMAND[0], JOB, *COMMAND[2:], env={})
    expect(json.loads(done) == expected, f"the program of {deb.name} says something else with an empty environment")

    words = chroot_command()
    if words is None:
        print("check_package: not permitted to change the root; the packages were not run in a clean one")
        sys.exit(77)
    check_root(installed_by_dpkg(deb, scratch / "installed"), "usr/bin/orrery", words, expected)
    (scratch / "unpacked").mkdir()
    said("tar", "-xzf", archive, "-C", scratch / "unpacked", "--strip-components=1")
    check_root(scratch / "unpacked", "bin/orrery", words, expected)


def main():
    missing = [name for name in ("cpack", "dpkg", "dpkg-deb", "dpkg-shlibdeps", "file") if not shutil.which(name)]
    if missing:
        print(f"check_package: {', '.join(missing)} not found: make package-packages")
        sys.exit(77)
    run(check, __doc__)


if __name__ == "__main__":
    main()
