"""The held-out models that were written after the predictions were fixed, and predicted before they were measured.

As in first_half.py, each function builds a model and returns a function that runs one training step.
"""

import math

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn


def vision_transformer():
    """ViT-S/16 at 224, batch 128, bf16 autocast, fused AdamW, label smoothing."""

    class ViT(nn.Module):
        def __init__(self, width=384, layers=12, heads=6, classes=1000):
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, stride=16)
            self.token = nn.Parameter(torch.zeros(1, 1, width))
            self.position = nn.Parameter(torch.zeros(1, 197, width))
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu",
                                               batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
            self.head = nn.Linear(width, classes)

        def forward(self, images):
            x = self.patches(images).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
            return self.head(self.encoder(x)[:, 0])

    model = ViT().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    images = torch.randn(128, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (128,), device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
        loss.backward()
        optimizer.step()

    return step


def diffusion_block():
    """A U-Net level of a diffusion model: residual blocks with group norm and time embedding, attention, EMA."""

    class Residual(nn.Module):
        def __init__(self, channels, embedding):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(32, channels), nn.GroupNorm(32, channels)
            self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
            self.time = nn.Linear(embedding, channels)

        def forward(self, x, time):
            h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
            return x + self.conv2(F.silu(self.norm2(h)))

    class Attention(nn.Module):
        def __init__(self, channels, heads=8):
            super().__init__()
            self.heads, self.norm = heads, nn.GroupNorm(32, channels)
            self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x)).view(b, 3, self.heads, c // self.heads, h * w).transpose(-1, -2).unbind(1)
            return x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(b, c, h, w))

    class Denoiser(nn.Module):
        def __init__(self, channels=320, embedding=1280):
            super().__init__()
            self.enter, self.leave = nn.Conv2d(4, channels, 3, padding=1), nn.Conv2d(channels, 4, 3, padding=1)
            self.time = nn.Sequential(nn.Linear(320, embedding), nn.SiLU(), nn.Linear(embedding, embedding))
            self.blocks = nn.ModuleList(Residual(channels, embedding) for _ in range(4))
            self.attention = nn.ModuleList(Attention(channels) for _ in range(4))

        def forward(self, x, t):
            frequencies = torch.exp(-math.log(10000) * torch.arange(160, device=x.device) / 160)
            angles = t[:, None].float() * frequencies
            time = self.time(torch.cat([angles.cos(), angles.sin()], dim=-1))
            x = self.enter(x)
            for block, attention in zip(self.blocks, self.attention):
                x = attention(block(x, time))
            return self.leave(F.silu(x))

    model = Denoiser().cuda()
    average = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    images = torch.randn(16, 4, 64, 64, device="cuda")

    def step():
        optimizer.zero_grad()
        noise = torch.randn_like(images)
        t = torch.randint(0, 1000, (16,), device="cuda")
        alpha = torch.cos(t / 1000 * math.pi / 2)[:, None, None, None]
        noisy = alpha * images + (1 - alpha ** 2).sqrt() * noise
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.mse_loss(model(noisy, t), noise)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, list(model.parameters()), 0.001)

    return step


def graph_network():
    """Message passing with index_add over two million edges, in fp32."""

    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.message, self.update = nn.Linear(2 * width, width), nn.Linear(2 * width, width)
            self.norm = nn.LayerNorm(width)

        def forward(self, x, source, target):
            messages = F.relu(self.message(torch.cat([x[source], x[target]], dim=-1)))
            summed = torch.zeros_like(x).index_add_(0, target, messages)
            degree = torch.zeros(x.shape[0], 1, device=x.device).scatter_add_(
                0, target[:, None], torch.ones(target.shape[0], 1, device=x.device))
            return self.norm(x + self.update(torch.cat([x, summed / degree.clamp(min=1)], dim=-1)))

    width, nodes, edges = 128, 100_000, 1_000_000
    layers = nn.ModuleList(Layer(width) for _ in range(3)).cuda()
    head = nn.Linear(width, 40).cuda()
    optimizer = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=1e-3)
    x = torch.randn(nodes, width, device="cuda")
    source, target = (torch.randint(0, nodes, (edges,), device="cuda") for _ in range(2))
    labels = torch.randint(0, 40, (nodes,), device="cuda")
    train = torch.rand(nodes, device="cuda") < 0.5

    def step():
        optimizer.zero_grad()
        h = x
        for layer in layers:
            h = layer(h, source, target)
        loss = F.cross_entropy(head(h)[train], labels[train])
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


def state_space_scan():
    """A Mamba-like layer written with a chunked scan in plain PyTorch: many small kernels."""

    class Scan(nn.Module):
        def __init__(self, width=512, state=16):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.enter, self.leave = nn.Linear(width, 2 * width), nn.Linear(width, width)
            self.conv = nn.Conv1d(width, width, 4, padding=3, groups=width)
            self.select = nn.Linear(width, 2 * state + 1)
            self.decay = nn.Parameter(torch.rand(width, state))

        def forward(self, x):
            u, gate = self.enter(self.norm(x)).chunk(2, dim=-1)
            u = F.silu(self.conv(u.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
            b, c, delta = self.select(u).split([16, 16, 1], dim=-1)
            delta = F.softplus(delta)
            h = x.new_zeros(x.shape[0], x.shape[2], 16)
            outputs = []
            for t in range(0, x.shape[1], 32):
                step = delta[:, t : t + 32].sum(1, keepdim=True)
                h = h * torch.exp(-step.transpose(1, 2) * self.decay) + torch.einsum(
                    "btd,btn->bdn", u[:, t : t + 32], b[:, t : t + 32])
                outputs.append(torch.einsum("bdn,btn->btd", h, c[:, t : t + 32]))
            return x + self.leave(torch.cat(outputs, dim=1) * F.silu(gate))

    model = nn.Sequential(nn.Embedding(8000, 512), *(Scan() for _ in range(4)), nn.Linear(512, 8000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 8000, (16, 513), device="cuda")

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return step


def low_rank_adapters():
    """LoRA on a frozen bf16 decoder from Transformers, with gradient checkpointing."""
    import transformers

    class Adapter(nn.Module):
        def __init__(self, base, rank=16):
            super().__init__()
            self.base = base
            self.down = nn.Linear(base.in_features, rank, bias=False, device="cuda")
            self.up = nn.Linear(rank, base.out_features, bias=False, device="cuda")

        def forward(self, x):
            return self.base(x) + self.up(self.down(x.float())).to(x.dtype)

    config = transformers.LlamaConfig(hidden_size=2048, intermediate_size=5504, num_hidden_layers=12,
                                      num_attention_heads=16, num_key_value_heads=4, vocab_size=32000)
    model = transformers.LlamaForCausalLM(config).cuda().bfloat16()
    model.requires_grad_(False)
    for layer in model.model.layers:
        for name in ("q_proj", "v_proj"):
            setattr(layer.self_attn, name, Adapter(getattr(layer.self_attn, name)))
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.enable_input_require_grads()
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4)
    tokens = torch.randint(0, 32000, (4, 1024), device="cuda")

    def step():
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()

    return step


def cuda_graphs():
    """torch.compile(mode="reduce-overhead"): the forward and backward pass are CUDA graphs."""
    layers = [layer for _ in range(12) for layer in (nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU())]
    model = nn.Sequential(*layers, nn.Linear(512, 10)).cuda()
    compiled = torch.compile(model, mode="reduce-overhead")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(256, 512, device="cuda")
    labels = torch.randint(0, 10, (256,), device="cuda")

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad()
        loss = F.cross_entropy(compiled(x), labels)
        loss.backward()
        optimizer.step()

    return step


def several_streams():
    """Two branches on two streams, joined before the loss; the next batch is copied on a third."""
    left, right = (nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(2048, 2048), nn.ReLU()))).cuda()
                   for _ in range(2))
    head = nn.Linear(4096, 1000).cuda()
    parameters = [*left.parameters(), *right.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    side, copies = torch.cuda.Stream(), torch.cuda.Stream()
    host = torch.randn(1024, 2048).pin_memory()
    labels = torch.randint(0, 1000, (1024,), device="cuda")
    x = host.cuda()

    def step():
        nonlocal x
        main = torch.cuda.current_stream()
        optimizer.zero_grad()
        with torch.cuda.stream(copies):
            following = host.to("cuda", non_blocking=True)
        side.wait_stream(main)
        with torch.cuda.stream(side):
            second = right(x)
        first = left(x)
        main.wait_stream(side)
        loss = F.cross_entropy(head(torch.cat([first, second], dim=-1)), labels)
        loss.backward()
        optimizer.step()
        main.wait_stream(copies)
        x = following

    return step


@triton.jit
def _squared_relu(x_ptr, y_ptr, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(x > 0, x * x, 0.0), mask=at < n)


@triton.jit
def _squared_relu_backward(x_ptr, g_ptr, y_ptr, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    x, g = tl.load(x_ptr + at, mask=at < n), tl.load(g_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(x > 0, 2.0 * x * g, 0.0), mask=at < n)


class _SquaredRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        _squared_relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), block=1024)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        y = torch.empty_like(x)
        gradient = gradient.contiguous()
        _squared_relu_backward[(triton.cdiv(x.numel(), 1024),)](x, gradient, y, x.numel(), block=1024)
        return y


def own_triton_kernel():
    """An MLP-Mixer whose activation is a Triton kernel of the user's own."""

    class Mixer(nn.Module):
        def __init__(self, tokens=196, width=512):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.tokens = nn.ModuleList([nn.Linear(tokens, 2 * tokens), nn.Linear(2 * tokens, tokens)])
            self.channels = nn.ModuleList([nn.Linear(width, 4 * width), nn.Linear(4 * width, width)])

        def forward(self, x):
            h = self.tokens[0](self.norm1(x).transpose(1, 2))
            x = x + self.tokens[1](_SquaredRelu.apply(h)).transpose(1, 2)
            return x + self.channels[1](_SquaredRelu.apply(self.channels[0](self.norm2(x))))

    model = nn.Sequential(*(Mixer() for _ in range(8))).cuda().bfloat16()
    head = nn.Linear(512, 1000).cuda().bfloat16()
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-3)
    x = torch.randn(128, 196, 512, device="cuda", dtype=torch.bfloat16)
    labels = torch.randint(0, 1000, (128,), device="cuda")

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(head(model(x).mean(1)).float(), labels)
        loss.backward()
        optimizer.step()

    return step


MODELS = {
    "vision-transformer": vision_transformer,
    "diffusion-block": diffusion_block,
    "graph-network": graph_network,
    "state-space-scan": state_space_scan,
    "low-rank-adapters": low_rank_adapters,
    "cuda-graphs": cuda_graphs,
    "several-streams": several_streams,
    "own-triton-kernel": own_triton_kernel,
}
