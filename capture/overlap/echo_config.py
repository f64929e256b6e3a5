"""The configuration files of Echo's slowdown module, as far as they say something to us."""

import dataclasses
import json
import os
import shutil
import sys

_FILES = {
    "global_config.json": ("cuda_visible_devices", "cuda_version_check", "ncu_path", "python_path",
                           "nsys_path"),
    "local_config.json": ("cap_size", "epochs", "batchsize", "warmup_epochs"),
    "training_testing_config.json": ("test_data_file", "test_baseline_ratio",
                                     "predict_only_include_overlapped_kernel"),
}
_USED = ("cuda_visible_devices", "ncu_path", "python_path", "nsys_path")
_STARTED = "ORRERY_CAPTURE_PYTHON"


class NotUsable(Exception):
    """A configuration that is missing or broken; the message names the file and the fix."""


@dataclasses.dataclass
class Settings:
    """The settings of a configuration."""

    devices: str = ""
    paths: dict = dataclasses.field(default_factory=dict)  # of ncu, nsys, python
    remarks: list = dataclasses.field(default_factory=list)

    def apply(self, environment, arguments, start=os.execv):
        """Sets the devices, and restarts with the requested interpreter."""
        if self.devices:
            environment["CUDA_VISIBLE_DEVICES"] = self.devices
        python = self.paths.get("python")
        if python and os.path.abspath(python) != sys.executable and _STARTED not in environment:
            environment[_STARTED] = "1"
            sys.stderr.flush()
            start(python, [python, *arguments])


def _content(path):
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise NotUsable(f"{path}: {error}; it must be a JSON object") from error
    if not isinstance(content, dict):
        raise NotUsable(f"{path}: not a JSON object")
    return content


def _devices(value):
    """"0,1" of "0,1", 0 or [0, 1]."""
    return ",".join(str(one) for one in value) if isinstance(value, list) else str(value)


def _program(path, key, value):
    found = shutil.which(str(value))
    if found is None:
        raise NotUsable(f"{path}: {key} is {value}, which cannot be run; correct it or remove it")
    return found


def _take(settings, path, content):
    if "cuda_visible_devices" in content:
        settings.devices = _devices(content["cuda_visible_devices"])
    for name in ("ncu", "nsys", "python"):
        if content.get(f"{name}_path"):
            settings.paths[name] = _program(path, f"{name}_path", content[f"{name}_path"])


def _remark(settings, path, content, known):
    unused = [key for key in content if key in known and key not in _USED]
    unknown = [key for key in content if key not in known]
    if unused:
        settings.remarks.append(f"{path}: not needed here: {', '.join(unused)}")
    if unknown:
        settings.remarks.append(f"{path}: unknown and not used: {', '.join(unknown)}")


def read(folder):
    """Reads the files of a folder; without one, nothing is asked for."""
    settings = Settings()
    if folder is None:
        return settings
    names = [name for name in _FILES if os.path.exists(os.path.join(folder, name))]
    if not names:
        raise NotUsable(f"{folder}: none of {', '.join(_FILES)} is there; name the folder that "
                        "holds Echo's configuration")
    for name in names:
        path = os.path.join(folder, name)
        content = _content(path)
        if name == "global_config.json":
            _take(settings, path, content)
        _remark(settings, path, content, _FILES[name])
    return settings
