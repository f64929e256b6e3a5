"""A stand-in for DDP's own reduction of a bucket, for process groups whose result DDP's C++ side refuses.

DDP waits for the future of each bucket's all-reduce, and since PyTorch 2.11 refuses a group without one. This hook
calls the all-reduce itself and hands DDP a future that is complete. What differs from a run without it: DDP divides
gradients while it copies them into a bucket, this hook divides the bucket, one more small kernel for each."""

import torch
import torch.distributed as dist


def register(model, group):
    """Puts the hook into a DistributedDataParallel."""
    model.register_comm_hook(_State(group), _reduce)


class _State:
    def __init__(self, group):
        self.group = group
        self.stream = torch.cuda.Stream()


def _reduce(state, bucket):
    buffer = bucket.buffer()
    buffer.div_(dist.get_world_size(state.group))
    work = dist.all_reduce(buffer, group=state.group, async_op=True)
    future = torch.futures.Future(devices=[torch.device("cuda", torch.cuda.current_device())])
    state.stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(state.stream):
        if work is not None:
            work.wait()
        future.set_result(buffer)
    return future
