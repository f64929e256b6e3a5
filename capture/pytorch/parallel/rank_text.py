"""Ranks as text: `0-3,8`."""


def to_text(ranks):
    """Sorted ranks with runs drawn together."""
    runs = []
    for rank in sorted(set(ranks)):
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def from_text(text):
    """The ranks; ValueError where the text is none."""
    ranks = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ranks += range(int(first), int(last if dash else first) + 1)
    return sorted(set(ranks))
