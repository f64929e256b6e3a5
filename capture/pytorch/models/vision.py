"""torchvision's models with random weights, on random images."""


def make(description, layers):
    """Returns the model on PyTorch's current device; a vision transformer with so many layers."""
    import torchvision
    extra = {}
    if description.layers and layers and layers != description.layers:
        return _shorter_vit(torchvision, layers)
    if description.config["model"] in ("googlenet", "inception_v3"):
        extra["init_weights"] = False
    return torchvision.models.get_model(description.config["model"], weights=None, **extra)


def batch(description, settings, device):
    """Returns images and their classes."""
    import torch
    generator = torch.Generator(device=device).manual_seed(settings.seed)
    size = description.config["size"]
    images = torch.randn(settings.micro_batch, 3, size, size, device=device, generator=generator)
    classes = torch.randint(0, 1000, (settings.micro_batch,), device=device, generator=generator)
    if settings.channels_last:
        images = images.to(memory_format=torch.channels_last)
    return {"images": images.to(settings.parameter_type()), "classes": classes}


def loss(model, fields):
    """Returns the cross entropy of the classes; further heads of inception do not count."""
    from torch.nn import functional
    scores = model(fields["images"])
    return functional.cross_entropy(getattr(scores, "logits", scores), fields["classes"])


def _shorter_vit(torchvision, layers):
    return torchvision.models.VisionTransformer(
        image_size=224, patch_size=16, num_layers=layers, num_heads=12, hidden_dim=768, mlp_dim=3072)
