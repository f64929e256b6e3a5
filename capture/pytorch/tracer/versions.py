"""Which versions of PyTorch the tracer works with."""

OLDEST = (2, 3)
TESTED = (2, 11)


def _of(text):
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in text.split(".")[:2])


def _shown(version):
    return ".".join(str(part) for part in version)


def refusal(text):
    """Why this version cannot be used; empty where it can."""
    if _of(text) >= OLDEST:
        return ""
    return (f"PyTorch {_shown(_of(text))} is too old: the tracer needs {_shown(OLDEST)} to "
            f"{_shown(TESTED)} (tested: {_shown(TESTED)})")


def remark(text):
    """What a reader of the recording should know about the version; empty where nothing."""
    if _of(text) <= TESTED:
        return ""
    return (f"PyTorch {_shown(_of(text))} is newer than the tracer was tested with "
            f"({_shown(TESTED)}).")
