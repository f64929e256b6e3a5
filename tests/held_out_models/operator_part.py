"""Models for the operators that the others do not use. They were written and recorded to develop the estimates of unlisted
operators: a development set, never a blind test.

As in first_half.py, each function builds a model and returns a function that runs one training step.
"""

import torch
import torch.nn.functional as F
from torch import nn


def speech_ctc():
    """Grouped positional convolution and a bidirectional LSTM under CTC loss, spectrograms made on the GPU."""
    window = torch.hann_window(400, device="cuda")

    class Listener(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(201, 512)
            self.position = nn.Conv1d(512, 512, 65, padding=32, groups=16)
            self.lstm = nn.LSTM(512, 512, 3, bidirectional=True, batch_first=True)
            self.head = nn.Linear(1024, 64)

        def forward(self, waves):
            x = torch.stft(waves, 400, 160, window=window, return_complex=True).abs().clamp_min(1e-5).log().transpose(1, 2)
            x = self.project(x)
            x = x + F.gelu(self.position(x.transpose(1, 2)).transpose(1, 2))
            return self.head(self.lstm(x)[0])

    model = Listener().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    waves = torch.randn(32, 16000 * 4, device="cuda")
    targets = torch.randint(1, 64, (32, 50), device="cuda")
    sizes = torch.full((32,), 50, dtype=torch.long, device="cuda")

    def step():
        scores = model(waves).log_softmax(-1).transpose(0, 1)
        lengths = torch.full((32,), len(scores), dtype=torch.long, device="cuda")
        optimizer.zero_grad()
        F.ctc_loss(scores, targets, lengths, sizes).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()

    return step


def fourier_operator():
    """A Fourier neural operator: 2-D FFTs, products of complex modes, GELU."""

    class Spectral(nn.Module):
        def __init__(self, width, modes):
            super().__init__()
            self.modes = modes
            self.weight = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.complex64) / width)
            self.skip = nn.Conv2d(width, width, 1)

        def forward(self, x):
            m = self.modes
            spectrum = torch.fft.rfft2(x)
            kept = torch.zeros_like(spectrum)
            kept[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :m, :m], self.weight)
            return F.gelu(torch.fft.irfft2(kept, s=x.shape[-2:]) + self.skip(x))

    model = nn.Sequential(nn.Conv2d(3, 48, 1), *(Spectral(48, 24) for _ in range(4)), nn.Conv2d(48, 1, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(32, 3, 128, 128, device="cuda"), torch.randn(32, 1, 128, 128, device="cuda")

    def step():
        optimizer.zero_grad()
        error = model(x) - y
        (error.flatten(1).norm(dim=1) / y.flatten(1).norm(dim=1)).mean().backward()
        optimizer.step()

    return step


def jagged_transformer():
    """Sequences of different lengths as nested tensors with the jagged layout, bf16."""

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (part.unflatten(-1, [self.heads, -1]).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
            x = x + self.out(y)
            return x + self.down(F.gelu(self.up(self.norms[1](x))))

    blocks = nn.ModuleList(Block(512, 8) for _ in range(6)).cuda().bfloat16()
    optimizer = torch.optim.SGD(blocks.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
    lengths = torch.randint(64, 512, (48,), generator=torch.Generator().manual_seed(1)).tolist()
    parts = [torch.randn(length, 512, device="cuda", dtype=torch.bfloat16) for length in lengths]

    def step():
        optimizer.zero_grad()
        x = torch.nested.nested_tensor(parts, layout=torch.jagged)
        for block in blocks:
            x = block(x)
        x.values().float().pow(2).mean().backward()
        optimizer.step()

    return step


def gradients_of_samples():
    """Gradients of each sample by torch.func.vmap of grad, clipped one by one, then noise: private SGD."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(32, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
                          nn.Flatten(), nn.Linear(1024, 10)).cuda()
    parameters = dict(model.named_parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = torch.randn(256, 3, 32, 32, device="cuda"), torch.randint(0, 10, (256,), device="cuda")

    def loss(weights, image, label):
        return F.cross_entropy(torch.func.functional_call(model, weights, image[None]), label[None])

    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))

    def step():
        each = gradients({name: value.detach() for name, value in parameters.items()}, images, labels)
        norms = torch.stack([value.flatten(1).norm(dim=1) for value in each.values()]).norm(dim=0)
        factors = (1 / (norms + 1e-6)).clamp(max=1)
        for name, value in each.items():
            summed = torch.einsum("b,b...->...", factors, value)
            parameters[name].grad = (summed + torch.randn_like(summed)) / len(images)
        optimizer.step()

    return step


def grouped_experts():
    """Experts by torch._grouped_mm on sorted tokens, histogram of their load, bf16, moving average of weights."""
    experts, width, hidden = 16, 1024, 2816
    router = nn.Linear(width, experts, device="cuda", dtype=torch.bfloat16)
    up, down = (nn.Parameter(torch.randn(experts, *shape, device="cuda", dtype=torch.bfloat16) * 0.02)
                for shape in ((width, hidden), (hidden, width)))
    parameters = [*router.parameters(), up, down]
    averaged = [p.detach().clone() for p in parameters]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=True)
    tokens = torch.randn(16384, width, device="cuda", dtype=torch.bfloat16)
    load = torch.zeros(experts, device="cuda")

    def step():
        optimizer.zero_grad()
        weights, chosen = router(tokens).softmax(-1).topk(2)
        order = chosen.flatten().argsort(stable=True)
        counts = torch.histc(chosen.float(), bins=experts, min=0, max=experts - 1)
        ends = counts.cumsum(0).to(torch.int32)
        rows = tokens[order // 2]
        rows = torch._grouped_mm(F.silu(torch._grouped_mm(rows, up, offs=ends)), down, offs=ends)
        mixed = torch.zeros_like(tokens).index_add(0, order // 2, rows * weights.flatten()[order, None])
        load.lerp_(counts, 0.1)
        (mixed.float() - tokens.float()).pow(2).mean().backward()
        optimizer.step()
        torch._foreach_lerp_(averaged, [p.detach() for p in parameters], 0.01)

    return step


def point_clouds():
    """Voxel features by 3-D convolutions and sampling at points, distances between point sets."""
    net = nn.Sequential(nn.Conv3d(1, 32, 3, padding=1), nn.BatchNorm3d(32), nn.ReLU(), nn.MaxPool3d(2),
                        nn.Conv3d(32, 64, 3, padding=1), nn.BatchNorm3d(64), nn.ReLU(),
                        nn.Conv3d(64, 64, 3, padding=1), nn.ReLU()).cuda()
    head = nn.Linear(64, 3).cuda()
    optimizer = torch.optim.RMSprop([*net.parameters(), *head.parameters()], lr=1e-4, momentum=0.9)
    voxels = torch.rand(8, 1, 48, 48, 48, device="cuda")
    points, others = (torch.rand(8, 2048, 3, device="cuda") * 2 - 1 for _ in range(2))

    def step():
        optimizer.zero_grad(set_to_none=False)
        features = F.grid_sample(net(voxels), points[:, :, None, None], align_corners=False).flatten(2).transpose(1, 2)
        moved = points + head(features)
        distances = torch.cdist(moved, others)
        (distances.amin(1).mean() + distances.amin(2).mean()).backward()
        optimizer.step()

    return step


def sparse_embeddings():
    """Tables of embeddings whose gradients are sparse, two optimizers, towers of users and items, fp32."""
    tables = nn.ModuleList(nn.EmbeddingBag(rows, 64, mode="sum", sparse=True) for rows in (200000, 50000, 10000, 1000) * 3).cuda()
    words = nn.Embedding(100000, 64, sparse=True).cuda()
    towers = nn.Sequential(nn.Linear(13 * 64, 512), nn.ReLU(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 1)).cuda()
    of_tables = torch.optim.SparseAdam([*tables.parameters(), *words.parameters()], lr=1e-3)
    of_towers = torch.optim.Adagrad(towers.parameters(), lr=1e-2)
    bags = [torch.randint(0, table.num_embeddings, (4096, 8), device="cuda") for table in tables]
    titles, clicks = torch.randint(0, 100000, (4096, 12), device="cuda"), torch.randint(0, 2, (4096,), device="cuda").float()

    def step():
        of_tables.zero_grad()
        of_towers.zero_grad()
        features = [table(bag) for table, bag in zip(tables, bags)] + [words(titles).mean(1)]
        F.binary_cross_entropy_with_logits(towers(torch.cat(features, dim=1)).squeeze(-1), clicks).backward()
        of_tables.step()
        of_towers.step()

    return step


def packed_tagger():
    """A tagger of sentences of different lengths: packed LSTM layers and a packed GRU, fp32."""
    embedding, lstm = nn.Embedding(20000, 200).cuda(), nn.LSTM(200, 320, 2, bidirectional=True, batch_first=True).cuda()
    gru, head = nn.GRU(640, 128, batch_first=True, bidirectional=True).cuda(), nn.Linear(256, 40).cuda()
    parameters = [p for m in (embedding, lstm, gru, head) for p in m.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    lengths = torch.randint(20, 80, (96,), generator=torch.Generator().manual_seed(1)).sort(descending=True).values
    words, labels = torch.randint(0, 20000, (96, 80), device="cuda"), torch.randint(0, 40, (96, 80), device="cuda")

    def step():
        optimizer.zero_grad()
        packed = nn.utils.rnn.pack_padded_sequence(embedding(words), lengths, batch_first=True)
        hidden = nn.utils.rnn.pad_packed_sequence(gru(lstm(packed)[0])[0], batch_first=True, total_length=80)[0]
        F.cross_entropy(head(hidden).flatten(0, 1), labels.flatten()).backward()
        optimizer.step()

    return step


def curvature():
    """A regression whose loss has slopes and products of Hessians and vectors, by gradients of gradients, fp32."""
    model = nn.Sequential(nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(4096, 32, device="cuda"), torch.randn(4096, 1, device="cuda")

    def step():
        directions = torch.randn_like(x).requires_grad_()
        inputs = x.clone().requires_grad_()
        out = model(inputs)
        slope = torch.autograd.grad(out.sum(), inputs, create_graph=True)[0]
        bend = torch.autograd.grad((slope * directions).sum(), inputs, create_graph=True)[0]
        loss = F.mse_loss(out, y) + 1e-3 * slope.pow(2).sum(1).mean() + 1e-4 * bend.pow(2).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


PART = {"speech-ctc": speech_ctc, "fourier-operator": fourier_operator, "jagged-transformer": jagged_transformer,
        "gradients-of-samples": gradients_of_samples, "grouped-experts": grouped_experts, "point-clouds": point_clouds, "sparse-embeddings": sparse_embeddings,
        "packed-tagger": packed_tagger, "curvature": curvature}
