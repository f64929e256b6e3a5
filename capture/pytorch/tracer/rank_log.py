"""Output of the process of a rank: our own sentences, the end of an error, and errors of PyTorch as one line."""

OURS = "orrery-capture: "
_STARTS_SCRIPTS = 'File "<frozen runpy>"'
_BEGIN = "Traceback (most recent call last):"
_MOST_OF_AN_ERROR = 8
_MOST_OF_THE_REST = 3


def sentences(text):
    """Lines that the tracer itself said, once each."""
    return list(dict.fromkeys(line for line in text.splitlines() if line.startswith(OURS)))


def _of_script(error):
    """Without the frames that lead to a script."""
    ours = [place for place, line in enumerate(error) if _STARTS_SCRIPTS in line]
    return error[ours[-1] + 1:] if ours else error


def error_end(text):
    """The last lines of the last error of Python; of all there is where there was none."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(OURS)]
    begins = [place for place, line in enumerate(lines) if line.strip() == _BEGIN]
    if not begins:
        return lines[-_MOST_OF_THE_REST:]
    error = _of_script(lines[begins[-1] + 1:])
    frames = next((place for place, line in enumerate(error) if not line.startswith(" ")),
                  len(error))
    return error[:frames + 1][-_MOST_OF_AN_ERROR:]


def is_out_of_memory(error):
    import torch
    return isinstance(error, torch.cuda.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and
        any(words in str(error) for words in ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED")))


def reason(error):
    """One line on what went wrong."""
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else ""
    if "No backend type associated with device type" in str(error):
        return f"a process group that the stand-in cannot serve: {text}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
