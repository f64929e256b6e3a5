"""The held-out models that were written before the predictions were fixed.

Each function builds a small model the way people write them and returns a function that runs one training step. The
data is synthetic and stays on the GPU.
"""

import torch
import torch.nn.functional as F
from torch import nn


def _optimizer(model, **options):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, **options)


def gru_tagger():
    """Four layers of GRU in fp32 over 256 steps of time, as in speech and tagging."""

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(20000, 512)
            self.gru = nn.GRU(512, 768, num_layers=4, batch_first=True, bidirectional=True, dropout=0.1)
            self.head = nn.Linear(2 * 768, 64)

        def forward(self, tokens):
            hidden, _ = self.gru(self.embedding(tokens))
            return self.head(hidden)

    model = Tagger().cuda()
    optimizer = _optimizer(model)
    tokens = torch.randint(0, 20000, (64, 256), device="cuda")
    tags = torch.randint(0, 64, (64, 256), device="cuda")

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


class _Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU())

    def forward(self, x):
        return self.layers(x)


def unet_segmentation():
    """A U-Net with group norm, bf16 autocast, 24 images of 256 by 256, binary cross-entropy."""

    class UNet(nn.Module):
        def __init__(self, widths=(64, 128, 256, 512)):
            super().__init__()
            self.down = nn.ModuleList(_Block(i, o) for i, o in zip((3, *widths), widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(o, i, 2, stride=2) for i, o in zip(widths, widths[1:]))
            self.merge = nn.ModuleList(_Block(2 * i, i) for i in widths[:-1])
            self.head = nn.Conv2d(widths[0], 1, 1)

        def forward(self, x):
            skips = []
            for block in self.down:
                x = block(x)
                skips.append(x)
                x = F.max_pool2d(x, 2)
            x = skips.pop()
            for up, merge in zip(reversed(self.up), reversed(self.merge)):
                x = merge(torch.cat([up(x), skips.pop()], dim=1))
            return self.head(x)

    model = UNet().cuda()
    optimizer = _optimizer(model)
    images = torch.randn(24, 3, 256, 256, device="cuda")
    masks = torch.randint(0, 2, (24, 1, 256, 256), device="cuda").float()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.binary_cross_entropy_with_logits(model(images), masks)
        loss.backward()
        optimizer.step()

    return step


def moe_host_routing():
    """A mixture of experts whose tokens are routed on the host: a loop over experts with index selection."""

    class Experts(nn.Module):
        def __init__(self, width=1024, experts=8):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.gate = nn.Linear(width, experts)
            self.experts = nn.ModuleList(
                nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                for _ in range(experts))

        def forward(self, x):
            tokens = self.norm(x).flatten(0, 1)
            weights, chosen = self.gate(tokens).softmax(-1).topk(2, dim=-1)
            out = torch.zeros_like(tokens)
            for index, expert in enumerate(self.experts):
                rows, slot = torch.where(chosen == index)
                if rows.numel() == 0:
                    continue
                out.index_add_(0, rows, expert(tokens[rows]) * weights[rows, slot, None])
            return x + out.view_as(x)

    model = nn.Sequential(*(Experts() for _ in range(6))).cuda().bfloat16()
    optimizer = _optimizer(model, fused=True)
    x = torch.randn(8, 512, 1024, device="cuda", dtype=torch.bfloat16)
    target = torch.randn_like(x)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x).float(), target.float())
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def small_convnet():
    """A residual network for 32 by 32 images, batch 128, SGD: the host is the limit."""

    class Residual(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.skip = nn.Sequential()
            if stride != 1 or inputs != outputs:
                self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x):
            out = F.relu(self.bn1(self.conv1(x)))
            return F.relu(self.bn2(self.conv2(out)) + self.skip(x))

    blocks = [Residual(i, o, s) for i, o, s in
              ((32, 32, 1), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1),
               (128, 128, 1), (128, 256, 2), (256, 256, 1))]
    model = nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(256, 100)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    images = torch.randn(128, 3, 32, 32, device="cuda")
    labels = torch.randint(0, 100, (128,), device="cuda")

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def recommender():
    """Two towers over 20 categorical features, each its own embedding table; the host is the limit."""

    class Tower(nn.Module):
        def __init__(self, tables):
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(50000, 32) for _ in range(tables))
            self.mlp = nn.Sequential(nn.Linear(32 * tables, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 64))

        def forward(self, ids):
            return self.mlp(torch.cat([table(ids[:, i]) for i, table in enumerate(self.tables)], dim=-1))

    user, item = Tower(12).cuda(), Tower(8).cuda()
    optimizer = torch.optim.Adam([*user.parameters(), *item.parameters()], lr=1e-3)
    users = torch.randint(0, 50000, (4096, 12), device="cuda")
    items = torch.randint(0, 50000, (4096, 8), device="cuda")
    clicks = torch.randint(0, 2, (4096,), device="cuda").float()

    def step():
        optimizer.zero_grad()
        scores = (user(users) * item(items)).sum(-1)
        loss = F.binary_cross_entropy_with_logits(scores, clicks)
        loss.backward()
        optimizer.step()

    return step


class _DecoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class _Decoder(nn.Module):
    def __init__(self, width=1024, heads=16, layers=12, vocabulary=32000):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(_DecoderLayer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def compiled_decoder():
    """A decoder of 12 layers under torch.compile, bf16, 8 sequences of 1,024."""
    model = torch.compile(_Decoder().cuda().bfloat16())
    optimizer = _optimizer(model, fused=True)
    tokens = torch.randint(0, 32000, (8, 1025), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.float().view(-1, 32000), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()

    return step


def accumulated_gradients():
    """Four micro-batches a step, the loss read back in each, clipping, foreach AdamW, bf16 autocast."""
    model = _Decoder(width=768, heads=12, layers=8).cuda()
    optimizer = _optimizer(model)
    tokens = torch.randint(0, 32000, (4, 4, 513), device="cuda")

    def step():
        total = 0.0
        for batch in tokens:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                logits = model(batch[:, :-1])
                loss = F.cross_entropy(logits.view(-1, 32000), batch[:, 1:].reshape(-1)) / 4
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return total

    return step


def scaled_mixed_precision():
    """An encoder of six layers in fp16 with a gradient scaler, which reads back whether gradients overflowed."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 6), nn.Linear(512, 1000)).cuda()
    optimizer = _optimizer(model)
    scaler = torch.amp.GradScaler("cuda")
    x = torch.randn(64, 128, 512, device="cuda")
    labels = torch.randint(0, 1000, (64, 128), device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(x).flatten(0, 1), labels.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return step


MODELS = {
    "gru-tagger": gru_tagger,
    "unet-segmentation": unet_segmentation,
    "moe-host-routing": moe_host_routing,
    "small-convnet": small_convnet,
    "recommender": recommender,
    "compiled-decoder": compiled_decoder,
    "accumulated-gradients": accumulated_gradients,
    "scaled-mixed-precision": scaled_mixed_precision,
}
