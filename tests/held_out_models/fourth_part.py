"""The held-out models that were written after the general rules for operators, and predicted before they were measured.

As in first_half.py, each function builds a model and returns a function that runs one training step. Operators, libraries of kernels and
ways to wait for the device that the other parts do not have.
"""

import torch
import torch.nn.functional as F
from torch import nn


def conformer_ctc():
    """Speech recognition: conformer blocks with depthwise convolutions, CTC loss, bf16 autocast."""

    class Block(nn.Module):
        def __init__(self, width=256):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))
            self.first, self.second = (nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * width, width))
                                       for _ in range(2))
            self.attention = nn.MultiheadAttention(width, 4, dropout=0.1, batch_first=True)
            self.expand, self.mix = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 31, padding=15, groups=width)
            self.batch_norm, self.project = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

        def forward(self, x):
            x = x + 0.5 * self.first(self.norms[0](x))
            h = self.norms[1](x)
            x = x + self.attention(h, h, h, need_weights=False)[0]
            h = F.glu(self.expand(self.norms[2](x).transpose(1, 2)), dim=1)
            x = x + self.project(F.silu(self.batch_norm(self.mix(h)))).transpose(1, 2)
            return self.norms[4](x + 0.5 * self.second(self.norms[3](x)))

    stem = nn.Sequential(nn.Conv2d(1, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU()).cuda()
    enter, blocks, head = nn.Linear(64 * 20, 256).cuda(), nn.Sequential(*(Block() for _ in range(8))).cuda(), nn.Linear(256, 500).cuda()
    parameters = [p for m in (stem, enter, blocks, head) for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-4)
    sound = torch.randn(24, 1, 1200, 80, device="cuda")
    text = torch.randint(1, 500, (24, 60), device="cuda")
    lengths, text_lengths = torch.full((24,), 300), torch.randint(30, 60, (24,))

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            h = stem(sound).permute(0, 2, 1, 3).flatten(2)
            logits = head(blocks(enter(h)))
        loss = F.ctc_loss(logits.float().log_softmax(-1).transpose(0, 1), text, lengths, text_lengths)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 5.0)
        optimizer.step()

    return step


def nested_encoder():
    """Sentences of different length as nested tensors (jagged), attention without padding, bf16."""
    width, heads = 512, 8
    embedding = nn.Embedding(20000, width).cuda().bfloat16()
    layers = nn.ModuleList(nn.ModuleDict({"norm": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                                          "norm2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width),
                                          "down": nn.Linear(4 * width, width)}) for _ in range(6)).cuda().bfloat16()
    head = nn.Linear(width, 20).cuda().bfloat16()
    parameters = [*embedding.parameters(), *layers.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=True)
    sentences = [torch.randint(0, 20000, (20 + 7 * (i % 30),), device="cuda") for i in range(96)]
    labels = torch.randint(0, 20, (96,), device="cuda")

    def split_heads(x):
        return x.unflatten(-1, [heads, width // heads]).transpose(1, 2)

    def step():
        optimizer.zero_grad()
        x = embedding(torch.nested.nested_tensor(sentences, layout=torch.jagged))
        for layer in layers:
            q, k, v = (split_heads(part) for part in layer["qkv"](layer["norm"](x)).chunk(3, dim=-1))
            x = x + layer["out"](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))
            x = x + layer["down"](F.gelu(layer["up"](layer["norm2"](x))))
        F.cross_entropy(head(x.to_padded_tensor(0.0).sum(1) / 120).float(), labels).backward()
        optimizer.step()

    return step


def fourier_operator():
    """A Fourier neural operator: rfft2, complex weights, irfft2, fp32, Adam."""

    class Spectral(nn.Module):
        def __init__(self, width=32, modes=16):
            super().__init__()
            self.modes = modes
            self.low, self.high = (nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.cfloat) / width**2) for _ in range(2))
            self.skip = nn.Conv2d(width, width, 1)

        def forward(self, x):
            f, m = torch.fft.rfft2(x), self.modes
            out = torch.zeros_like(f)
            out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, :m, :m], self.low)
            out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, -m:, :m], self.high)
            return F.gelu(torch.fft.irfft2(out, s=x.shape[-2:]) + self.skip(x))

    model = nn.Sequential(nn.Conv2d(3, 32, 1), *(Spectral() for _ in range(4)), nn.Conv2d(32, 128, 1), nn.GELU(), nn.Conv2d(128, 1, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    x, y = torch.randn(16, 3, 256, 256, device="cuda"), torch.randn(16, 1, 256, 256, device="cuda")

    def step():
        optimizer.zero_grad()
        difference = (model(x) - y).flatten(1)
        (difference.norm(dim=1) / y.flatten(1).norm(dim=1)).mean().backward()
        optimizer.step()

    return step


def sorted_experts():
    """A mixture of experts without padding: tokens sorted by expert, counted by bincount, one GEMM an expert, sizes read on the host."""
    width, experts, top = 1024, 16, 2
    router = nn.Linear(width, experts, bias=False).cuda()
    up, down = (nn.Parameter(0.02 * torch.randn(experts, *shape, device="cuda")) for shape in ((width, 2048), (2048, width)))
    norm, head = nn.RMSNorm(width).cuda(), nn.Linear(width, 256).cuda()
    parameters = [*router.parameters(), up, down, *norm.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    x = torch.randn(8192, width, device="cuda")
    target = torch.randint(0, 256, (8192,), device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            h = norm(x)
            weights, chosen = router(h).float().softmax(-1).topk(top)
            order = chosen.flatten().argsort(stable=True)
            counts = torch.bincount(chosen.flatten(), minlength=experts).tolist()
            parts = h.repeat_interleave(top, 0)[order].split(counts)
            done = torch.cat([F.silu(part @ up[e]) @ down[e] for e, part in enumerate(parts)])
            mixed = torch.zeros_like(done).index_copy(0, order, done).view(-1, top, width)
            loss = F.cross_entropy(head(x + (mixed * weights.unsqueeze(-1)).sum(1)), target)
        loss.backward()
        optimizer.step()

    return step


def spectral_gan():
    """A GAN: two optimizers, spectral norms, transposed convolutions, hinge loss, fp32."""
    norm = nn.utils.parametrizations.spectral_norm

    def up(a, b):
        return nn.Sequential(nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU())

    def down(a, b):
        return nn.Sequential(norm(nn.Conv2d(a, b, 4, 2, 1)), nn.LeakyReLU(0.1))

    generator = nn.Sequential(nn.ConvTranspose2d(128, 512, 4), nn.ReLU(), up(512, 256), up(256, 128), up(128, 64),
                              nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).cuda()
    critic = nn.Sequential(down(3, 64), down(64, 128), down(128, 256), down(256, 512), nn.Flatten(), norm(nn.Linear(512 * 16, 1))).cuda()
    make = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.0, 0.9))
    judge = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.0, 0.9))
    images = torch.rand(64, 3, 64, 64, device="cuda")

    def step():
        judge.zero_grad()
        fake = generator(torch.randn(64, 128, 1, 1, device="cuda")).detach()
        (F.relu(1 - critic(images)).mean() + F.relu(1 + critic(fake)).mean()).backward()
        judge.step()
        make.zero_grad()
        (-critic(generator(torch.randn(64, 128, 1, 1, device="cuda"))).mean()).backward()
        make.step()

    return step


def point_cloud():
    """A network on points: nearest neighbours by cdist and topk, gathers, maxima over neighbours, fp32."""

    def edges(x, k=16):
        near = torch.cdist(x, x).topk(k, largest=False).indices
        b, n, c = x.shape
        picked = x.gather(1, near.reshape(b, n * k, 1).expand(-1, -1, c)).view(b, n, k, c)
        return torch.cat([picked - x.unsqueeze(2), x.unsqueeze(2).expand_as(picked)], dim=-1)

    layers = nn.ModuleList(nn.Sequential(nn.Linear(2 * a, b), nn.ReLU(), nn.Linear(b, b)) for a, b in ((3, 64), (64, 64), (64, 128))).cuda()
    head = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 40)).cuda()
    parameters = [*layers.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-4)
    points, labels = torch.randn(16, 1024, 3, device="cuda"), torch.randint(0, 40, (16,), device="cuda")

    def step():
        optimizer.zero_grad()
        x, kept = points, []
        for layer in layers:
            x = layer(edges(x)).amax(2)
            kept.append(x.amax(1))
        F.cross_entropy(head(torch.cat(kept, dim=1)), labels, label_smoothing=0.2).backward()
        optimizer.step()

    return step


def packed_recurrence():
    """A bidirectional LSTM on packed sequences with a GRU decoder, fp32, AdamW."""
    embedding, encoder = nn.Embedding(10000, 256).cuda(), nn.LSTM(256, 384, 2, bidirectional=True, dropout=0.2, batch_first=True).cuda()
    decoder, head = nn.GRU(768, 256, batch_first=True).cuda(), nn.Linear(256, 50).cuda()
    parameters = [p for m in (embedding, encoder, decoder, head) for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    words, labels = torch.randint(1, 10000, (64, 120), device="cuda"), torch.randint(0, 50, (64, 120), device="cuda")
    lengths = torch.arange(120, 56, -1)

    def step():
        optimizer.zero_grad()
        packed = nn.utils.rnn.pack_padded_sequence(embedding(words), lengths, batch_first=True)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(encoder(packed)[0], batch_first=True, total_length=120)
        F.cross_entropy(head(decoder(hidden)[0]).flatten(0, 1), labels.flatten()).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return step


def volume_unet():
    """A U-Net of volumes: 3-D convolutions, instance norms, Dice loss, fp16 autocast with a scaler."""

    def double(a, b):
        return nn.Sequential(*(layer for i in (a, b) for layer in (nn.Conv3d(i, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU())))

    down, up = nn.ModuleList([double(1, 32), double(32, 64), double(64, 128)]).cuda(), nn.ModuleList([double(192, 64), double(96, 32)]).cuda()
    head = nn.Conv3d(32, 4, 1).cuda()
    parameters = [*down.parameters(), *up.parameters(), *head.parameters()]
    optimizer, scaler = torch.optim.SGD(parameters, lr=1e-2, momentum=0.99, nesterov=True), torch.amp.GradScaler("cuda")
    volume, labels = torch.randn(2, 1, 64, 96, 96, device="cuda"), torch.randint(0, 4, (2, 64, 96, 96), device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            a = down[0](volume)
            b = down[1](F.max_pool3d(a, 2))
            c = down[2](F.max_pool3d(b, 2))
            b = up[0](torch.cat([F.interpolate(c, scale_factor=2, mode="trilinear"), b], 1))
            a = up[1](torch.cat([F.interpolate(b, scale_factor=2, mode="trilinear"), a], 1))
            logits = head(a)
        shares = logits.float().softmax(1)
        truth = F.one_hot(labels, 4).permute(0, 4, 1, 2, 3).float()
        dice = 1 - (2 * (shares * truth).sum((0, 2, 3, 4)) / (shares + truth).sum((0, 2, 3, 4))).mean()
        scaler.scale(F.cross_entropy(logits.float(), labels) + dice).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def physics_informed():
    """A physics-informed network: second derivatives by autograd.grad, many small fp32 operators."""
    model = nn.Sequential(nn.Linear(2, 128), *(layer for _ in range(5) for layer in (nn.Tanh(), nn.Linear(128, 128))), nn.Tanh(), nn.Linear(128, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    inside, border = torch.rand(20000, 2, device="cuda"), torch.rand(2000, 2, device="cuda")

    def step():
        optimizer.zero_grad()
        points = inside.detach().requires_grad_()
        u = model(points)
        first = torch.autograd.grad(u.sum(), points, create_graph=True)[0]
        second = [torch.autograd.grad(first[:, i].sum(), points, create_graph=True)[0][:, i] for i in range(2)]
        residual = second[0] + second[1] + torch.sin(3 * points[:, 0]) * u.squeeze(-1)
        loss = residual.square().mean() + model(border).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def momentum_contrast():
    """Contrastive learning: a teacher by foreach moving average, a queue of keys, augmentations on the GPU, tf32 convolutions."""

    def block(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.GroupNorm(8, b), nn.SiLU(), nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.GroupNorm(8, b), nn.SiLU())

    def encoder():
        return nn.Sequential(block(3, 64), block(64, 128), block(128, 256), block(256, 512), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 128)).cuda()

    student, teacher = encoder(), encoder()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.03, momentum=0.9, foreach=True)
    images, queue = torch.rand(96, 3, 128, 128, device="cuda"), F.normalize(torch.randn(8192, 128, device="cuda"), dim=1)

    def augment(x):
        x = x.flip(3) if torch.rand(()) < 0.5 else x
        x = torch.roll(x, tuple(torch.randint(-8, 9, (2,)).tolist()), (2, 3))
        return (x * (0.8 + 0.4 * torch.rand(x.shape[0], 1, 1, 1, device="cuda"))).clamp(0, 1)

    def step():
        nonlocal queue
        with torch.no_grad():
            torch._foreach_lerp_(list(teacher.parameters()), list(student.parameters()), 0.001)
            keys = F.normalize(teacher(augment(images)), dim=1)
        queries = F.normalize(student(augment(images)), dim=1)
        logits = torch.cat([(queries * keys).sum(1, keepdim=True), queries @ queue.t()], dim=1) / 0.2
        optimizer.zero_grad()
        F.cross_entropy(logits, torch.zeros(len(keys), dtype=torch.long, device="cuda")).backward()
        optimizer.step()
        queue = torch.cat([queue[len(keys):], keys])

    return step


def augmented_loader():
    """An image classifier whose loader makes each batch in two worker processes and copies it from pageable memory."""

    class Pictures(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, index):
            picture = torch.rand(3, 96, 96, generator=torch.Generator().manual_seed(index))
            return F.avg_pool2d(picture.roll(index % 96, 2).unsqueeze(0), 3, 1, 1)[0], index % 100

    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.Conv2d(64, 128, 3, 2, 1), nn.ReLU(), nn.Conv2d(128, 256, 3, 2, 1), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter(torch.utils.data.DataLoader(Pictures(), batch_size=64, num_workers=2))

    def step():
        images, labels = next(batches)
        images, labels = images.cuda(), labels.cuda()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


MODELS = {"conformer-ctc": conformer_ctc, "nested-encoder": nested_encoder, "fourier-operator": fourier_operator,
          "sorted-experts": sorted_experts, "spectral-gan": spectral_gan, "point-cloud": point_cloud,
          "packed-recurrence": packed_recurrence, "volume-unet": volume_unet, "physics-informed": physics_informed,
          "momentum-contrast": momentum_contrast, "augmented-loader": augmented_loader}
