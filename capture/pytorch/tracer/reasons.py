"""Errors of PyTorch as one line."""


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
