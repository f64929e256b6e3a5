"""What the process of a rank printed: sentences of ours, and the end of an error."""

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
