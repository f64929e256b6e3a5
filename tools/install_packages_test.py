#!/usr/bin/env python3
"""Tests of tools/install_packages on a simulated machine: fake dpkg-query and apt-get on PATH."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "install_packages"

FAKE_DPKG_QUERY = """#!/bin/bash
shift 3
status=0
for package in "$@"; do
  if grep -qx "$package" "$MACHINE/installed"; then
    echo "installed $package"
  else
    status=1
  fi
done
exit $status
"""

FAKE_APT_GET = """#!/bin/bash
echo "apt-get $*" >> "$MACHINE/calls"
if [[ "$1" == install ]]; then
  for word in "${@:2}"; do
    [[ "$word" == -* || "$word" == broken ]] || echo "$word" >> "$MACHINE/installed"
  done
fi
"""

TOOLS = ["bash", "cat", "comm", "dirname", "env", "grep", "mkdir", "sed", "sha256sum", "sort",
         "stat", "touch"]


class Machine:
    """A repository and a system in a temporary directory."""

    def __init__(self, folder, with_dpkg=True, system="debian 12", is_root=True):
        self.folder = pathlib.Path(folder)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.program("id", f"#!/bin/bash\necho {0 if is_root else 1000}\n")
        if with_dpkg:
            self.program("dpkg-query", FAKE_DPKG_QUERY)
            self.program("apt-get", FAKE_APT_GET)
        (self.folder / "tools").mkdir()
        shutil.copy(SCRIPT, self.folder / "tools" / "install_packages")
        name, version = system.split()
        (self.folder / "os-release").write_text(f'ID={name}\nVERSION_ID="{version}"\n')
        (self.folder / "calls").write_text("")
        (self.folder / "installed").write_text("cmake\n")

    def program(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, *packages, **environment):
        (self.folder / "list.txt").write_text("# a comment\n" + "\n".join(packages) + "  # why\n")
        return subprocess.run(
            [self.folder / "tools" / "install_packages", "list.txt"], cwd=self.folder, text=True,
            capture_output=True, env={"PATH": str(self.bin), "MACHINE": str(self.folder),
                                      "ORRERY_DPKG_STATUS": str(self.folder / "installed"),
                                      "ORRERY_OS_RELEASE": str(self.folder / "os-release"),
                                      **environment})

    @property
    def calls(self):
        return (self.folder / "calls").read_text().splitlines()


class InstallPackagesTest(unittest.TestCase):
    def machine(self, **options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Machine(folder.name, **options)

    def test_nothing_happens_when_all_is_there(self):
        machine = self.machine()
        done = machine.run("cmake")
        self.assertEqual((done.returncode, done.stdout, done.stderr, machine.calls), (0, "", "", []))

    def test_only_what_is_missing_is_installed_after_one_update(self):
        machine = self.machine()
        done = machine.run("cmake", "ninja-build")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(machine.calls, [
            "apt-get update -q",
            "apt-get install -q -y --no-install-recommends ninja-build"])

    def test_second_run_finds_its_stamp(self):
        machine = self.machine()
        machine.run("cmake")
        (machine.bin / "dpkg-query").unlink()
        self.assertEqual(machine.run("cmake").returncode, 0)

    def test_stamp_does_not_outlive_a_removed_package(self):
        machine = self.machine()
        machine.run("cmake")
        installed = machine.folder / "installed"
        installed.write_text("")
        os.utime(installed, (1, 1))
        machine.run("cmake")
        self.assertIn("apt-get install -q -y --no-install-recommends cmake", machine.calls)

    def test_every_supported_system_gets_what_is_missing(self):
        for system in ["debian 12", "debian 13", "ubuntu 24.04"]:
            machine = self.machine(system=system)
            done = machine.run("cmake", "ninja-build")
            self.assertEqual((system, done.returncode), (system, 0), done.stderr)
            self.assertEqual(machine.calls[-1],
                             "apt-get install -q -y --no-install-recommends ninja-build")

    def test_other_system_gets_the_list_and_one_sentence(self):
        for system in ["fedora 12", "debian 11", "ubuntu 22.04", "ubuntu 12"]:
            machine = self.machine(system=system)
            done = machine.run("cmake", "ninja-build")
            self.assertEqual((system, done.returncode, done.stdout), (system, 1, "ninja-build\n"))
            self.assertIn("neither Debian 12 or 13 nor Ubuntu 24.04", done.stderr)
            self.assertEqual((len(done.stderr.splitlines()), machine.calls), (1, []))

    def test_other_system_with_everything_there_is_fine(self):
        self.assertEqual(self.machine(system="ubuntu 22.04").run("cmake").returncode, 0)

    def test_system_without_dpkg_gets_the_whole_list(self):
        done = self.machine(with_dpkg=False).run("cmake", "ninja-build")
        self.assertEqual((done.returncode, done.stdout), (1, "cmake\nninja-build\n"))

    def test_skip_leaves_the_machine_alone(self):
        machine = self.machine(with_dpkg=False)
        self.assertEqual(machine.run("cmake", ORRERY_SKIP_PACKAGES="1").returncode, 0)

    def test_without_root_and_sudo_the_command_to_run_is_said(self):
        done = self.machine(is_root=False).run("ninja-build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get install ninja-build", done.stderr)

    def test_package_that_apt_leaves_out_is_named(self):
        done = self.machine().run("broken")
        self.assertEqual(done.returncode, 1)
        self.assertIn("left packages out: broken", done.stderr)

    def test_unreadable_list_is_named(self):
        machine = self.machine()
        done = subprocess.run([machine.folder / "tools" / "install_packages", "none.txt"],
                              cwd=machine.folder, capture_output=True, text=True,
                              env={"PATH": str(machine.bin)})
        self.assertEqual(done.returncode, 1)
        self.assertIn("none.txt", done.stderr)


if __name__ == "__main__":
    unittest.main()
