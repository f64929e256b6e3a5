"""Sets of ranks as text: single ones and ranges with commas."""


def text(ranks):
    """Writes ranks in order: [0, 1, 2, 5] is "0-2,5"."""
    parts = []
    for rank in sorted(ranks):
        if parts and parts[-1][1] == rank - 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
