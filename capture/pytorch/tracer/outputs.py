"""Numbers in the outputs of collectives that nobody sends: such that training goes on as with peers."""

import torch

_LIKE_PARAMETERS = 0.02


def parts(whole, count):
    """Equal parts of a tensor along its memory."""
    flat = whole.view(-1)
    size = flat.numel() // count
    return [flat[place * size:(place + 1) * size] for place in range(count)]


@torch.no_grad()
def repeat(own, parts_):
    """Every part gets the own one: ranks are alike."""
    for part in parts_:
        take(own, part)


@torch.no_grad()
def take(source, output):
    """Copies as much as fits; the sides differ where ranks share unevenly."""
    if output.data_ptr() == source.data_ptr() or not output.numel():
        return
    if output.shape == source.shape:
        output.copy_(source)
        return
    size = min(output.numel(), source.numel())
    if output.is_contiguous() and source.is_contiguous():
        output.view(-1)[:size].copy_(source.view(-1)[:size])


@torch.no_grad()
def invent(output):
    """What a peer alone would know: small random numbers, or zeros for indices."""
    if output.is_floating_point():
        output.normal_(0.0, _LIKE_PARAMETERS)
    else:
        output.zero_()
