"""PyTorch's device mesh of a plan."""


def make(plan):
    """Returns the mesh of the dimensions that have more than one rank, None where there are none."""
    from torch.distributed.device_mesh import init_device_mesh
    used = [(name, size) for name, size, _ in plan.mesh if size > 1]
    if not used:
        return None
    return init_device_mesh("cuda", tuple(size for _, size in used), mesh_dim_names=tuple(name for name, _ in used))
