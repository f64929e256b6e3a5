"""The second file of the fifth part of held-out models (fifth_part.py)."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def dual_state_space():
    """A state-space model in the matrix form of Mamba-2: cumulative decays, masked exponentials and einsums over chunks, bf16 autocast."""
    heads, size, state, chunk = 8, 64, 64, 64

    def decays(a):
        sums = a.cumsum(-1)
        difference = sums.unsqueeze(-1) - sums.unsqueeze(-2)
        mask = torch.ones(a.shape[-1], a.shape[-1], dtype=torch.bool, device=a.device).tril()
        return difference.masked_fill(~mask, float("-inf"))

    class Mixer(nn.Module):
        def __init__(self, width=512):
            super().__init__()
            inner = heads * size
            self.norm, self.enter = nn.RMSNorm(width), nn.Linear(width, 2 * inner + 2 * state + heads)
            self.mix = nn.Conv1d(inner + 2 * state, inner + 2 * state, 4, padding=3, groups=inner + 2 * state)
            self.rate, self.skip = nn.Parameter(torch.zeros(heads)), nn.Parameter(torch.ones(heads))
            self.leave, self.last = nn.Linear(inner, width), nn.RMSNorm(inner)

        def forward(self, x):
            inner = heads * size
            gate, mixed, step = self.enter(self.norm(x)).split([inner, inner + 2 * state, heads], dim=-1)
            mixed = F.silu(self.mix(mixed.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
            values, b, c = mixed.split([inner, state, state], dim=-1)
            step = F.softplus(step.float())
            values = values.unflatten(-1, (heads, size))
            a = (-self.rate.exp() * step).unflatten(1, (-1, chunk)).permute(0, 3, 1, 2)
            u = (values * step.unsqueeze(-1)).unflatten(1, (-1, chunk))
            b, c = b.unflatten(1, (-1, chunk)), c.unflatten(1, (-1, chunk))
            inside = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", c, b, decays(a).exp(), u)
            sums = a.cumsum(-1)
            states = torch.einsum("bcln,bhcl,bclhp->bchpn", b, (sums[..., -1:] - sums).exp(), u)
            states = torch.cat([torch.zeros_like(states[:, :1]), states], dim=1)
            carried = torch.einsum("bhzc,bchpn->bzhpn", decays(F.pad(sums[..., -1], (1, 0))).exp(), states)[:, :-1]
            outside = torch.einsum("bcln,bchpn,bhcl->bclhp", c, carried, sums.exp())
            y = (inside + outside).flatten(1, 2) + values * self.skip[:, None]
            return x + self.leave(self.last(y.flatten(2) * F.silu(gate)))

    model = nn.Sequential(nn.Embedding(16000, 512), *(Mixer() for _ in range(4)), nn.RMSNorm(512), nn.Linear(512, 16000, bias=False)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    tokens = torch.randint(0, 16000, (8, 1025), device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return step


def anchor_detector():
    """A detector with anchors: a feature pyramid, overlaps with boxes, boolean indexing, focal and smooth losses, fp32 with TF32 convolutions."""

    def unit(a, b, stride=1):
        return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))

    body = nn.ModuleList([nn.Sequential(unit(3, 32, 2), unit(32, 64, 2)), nn.Sequential(unit(64, 128, 2), unit(128, 128)),
                          nn.Sequential(unit(128, 256, 2), unit(256, 256)), nn.Sequential(unit(256, 512, 2), unit(512, 512))]).cuda()
    lateral = nn.ModuleList(nn.Conv2d(n, 128, 1) for n in (128, 256, 512)).cuda()
    shared = nn.Sequential(unit(128, 128), unit(128, 128)).cuda()
    classes, corners = nn.Conv2d(128, 3 * 20, 3, padding=1).cuda(), nn.Conv2d(128, 3 * 4, 3, padding=1).cuda()
    parameters = [p for m in (body, lateral, shared, classes, corners) for p in m.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=1e-2, momentum=0.9, weight_decay=1e-4)
    images = torch.rand(8, 3, 256, 256, device="cuda")
    places = torch.cat([torch.rand(3 * (256 // s) ** 2, 2) * 256 for s in (8, 16, 32)])
    anchors = torch.cat([places, places + torch.rand_like(places) * 60 + 8], dim=1).cuda()
    boxes = [anchors[torch.randint(0, len(anchors), (6,), device="cuda")] + 2 for _ in range(8)]
    labels = [torch.randint(0, 20, (6,), device="cuda") for _ in range(8)]

    def area(b):
        return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])

    def overlaps(a, b):
        sides = (torch.min(a[:, None, 2:], b[:, 2:]) - torch.max(a[:, None, :2], b[:, :2])).clamp(min=0)
        both = sides.prod(-1)
        return both / (area(a)[:, None] + area(b) - both)

    def pyramid(x):
        kept = []
        for stage in body:
            x = stage(x)
            kept.append(x)
        above, out = None, []
        for feature, side in zip(kept[:0:-1], list(lateral)[::-1]):
            h = side(feature)
            above = h if above is None else h + F.interpolate(above, scale_factor=2, mode="nearest")
            out.append(shared(above))
        return out[::-1]

    def flat(head, features, width):
        return torch.cat([head(f).permute(0, 2, 3, 1).reshape(len(f), -1, width) for f in features], dim=1)

    def step():
        features = pyramid(images)
        scores, moves = flat(classes, features, 20), flat(corners, features, 4)
        total = scores.new_zeros(())
        for score, move, box, label in zip(scores, moves, boxes, labels):
            best, index = overlaps(anchors, box).max(dim=1)
            positive = best > 0.5
            truth = torch.zeros_like(score)
            truth[positive, label[index[positive]]] = 1.0
            share = score.sigmoid()
            missed = truth * (1 - share) + (1 - truth) * share
            focal = F.binary_cross_entropy_with_logits(score, truth, reduction="none") * missed.pow(2) * 0.25
            total = total + focal[best.lt(0.4) | positive].sum() / positive.sum().clamp(min=1)
            total = total + F.smooth_l1_loss(move[positive], (box[index[positive]] - anchors[positive]) / 10, beta=0.1)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()

    return step


def preference_pairs():
    """Direct preference optimization: a bf16 decoder against a frozen copy, log-probabilities gathered of pairs of answers."""
    width = 768

    def decoder():
        layer = nn.TransformerEncoderLayer(width, 12, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        return nn.ModuleDict({"words": nn.Embedding(20000, width), "body": nn.TransformerEncoder(layer, 6, enable_nested_tensor=False),
                              "norm": nn.LayerNorm(width)}).cuda().bfloat16()

    policy = decoder()
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=5e-7, foreach=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10000)
    tokens = torch.randint(0, 20000, (16, 385), device="cuda")
    answers = (torch.arange(384, device="cuda") > torch.randint(100, 200, (16, 1), device="cuda")).float()
    mask = nn.Transformer.generate_square_subsequent_mask(384, device="cuda", dtype=torch.bfloat16)

    def likelihoods(model):
        h = model["norm"](model["body"](model["words"](tokens[:, :-1]), mask=mask, is_causal=True))
        logits = F.linear(h, model["words"].weight).float()
        return (logits.log_softmax(-1).gather(2, tokens[:, 1:].unsqueeze(-1)).squeeze(-1) * answers).sum(-1)

    def step():
        with torch.no_grad():
            before = likelihoods(reference)
        gain = likelihoods(policy) - before
        chosen, rejected = gain.chunk(2)
        loss = -F.logsigmoid(0.1 * (chosen - rejected)).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        return {"loss": loss.item(), "accuracy": (chosen > rejected).float().mean().item()}

    return step


def force_field():
    """Energies of molecules and their forces: radial functions, messages over pairs, the loss on gradients of the energy, fp32."""
    atoms, near, width = 4096, 24, 128
    radii = torch.linspace(0, 5, 50, device="cuda")
    source = torch.arange(atoms, device="cuda").repeat_interleave(near)
    target = (source // 32) * 32 + torch.randint(0, 32, (atoms * near,), device="cuda")
    molecule, kinds = torch.arange(atoms, device="cuda") // 32, torch.randint(0, 10, (atoms,), device="cuda")

    class Interaction(nn.Module):
        def __init__(self):
            super().__init__()
            self.filter = nn.Sequential(nn.Linear(50, width), nn.Softplus(), nn.Linear(width, width))
            self.enter, self.leave = nn.Linear(width, width, bias=False), nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, width))

        def forward(self, x, shape, cutoff):
            messages = self.enter(x)[source] * self.filter(shape) * cutoff
            return x + self.leave(torch.zeros_like(x).index_add(0, target, messages))

    embedding, interactions = nn.Embedding(10, width).cuda(), nn.ModuleList(Interaction() for _ in range(3)).cuda()
    head = nn.Sequential(nn.Linear(width, 64), nn.Softplus(), nn.Linear(64, 1)).cuda()
    parameters = [p for m in (embedding, interactions, head) for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, amsgrad=True)
    start, energies, forces = torch.rand(atoms, 3, device="cuda") * 5, torch.randn(atoms // 32, device="cuda"), torch.randn(atoms, 3, device="cuda")

    def step():
        positions = start.detach().clone().requires_grad_()
        distance = (positions[source] - positions[target] + 1e-3).norm(dim=-1, keepdim=True)
        shape = torch.exp(-10 * (distance - radii).pow(2))
        cutoff = 0.5 * (torch.cos(distance * 0.628) + 1) * (distance < 5)
        x = embedding(kinds)
        for interaction in interactions:
            x = interaction(x, shape, cutoff)
        energy = torch.zeros(atoms // 32, device="cuda").index_add(0, molecule, head(x).squeeze(-1))
        force = -torch.autograd.grad(energy.sum(), positions, create_graph=True)[0]
        loss = 0.01 * F.mse_loss(energy, energies) + F.l1_loss(force, forces)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def vector_quantiser():
    """A quantised autoencoder: distances to a codebook, argmin, straight-through gradients, the codebook as a moving average, bf16 autocast."""

    def refined(n):
        return nn.Sequential(nn.ReLU(), nn.Conv2d(n, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, n, 1))

    encoder = nn.Sequential(nn.Conv2d(3, 128, 4, 2, 1), nn.ReLU(), nn.Conv2d(128, 256, 4, 2, 1), refined(256), nn.Conv2d(256, 64, 1)).cuda()
    decoder = nn.Sequential(nn.Conv2d(64, 256, 3, padding=1), refined(256), nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.ReLU(),
                            nn.ConvTranspose2d(128, 3, 4, 2, 1)).cuda()
    codes, counts = torch.randn(1024, 64, device="cuda"), torch.ones(1024, device="cuda")
    sums = codes.clone()
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-4)
    images = torch.rand(32, 3, 128, 128, device="cuda")

    def quantised(h):
        rows = h.permute(0, 2, 3, 1).reshape(-1, 64)
        with torch.no_grad():
            distances = rows.pow(2).sum(1, keepdim=True) - 2 * rows @ codes.t() + codes.pow(2).sum(1)
            chosen = distances.argmin(1)
            hot = F.one_hot(chosen, 1024).type_as(rows)
            counts.mul_(0.99).add_(hot.sum(0), alpha=0.01)
            sums.mul_(0.99).add_(hot.t() @ rows, alpha=0.01)
            codes.copy_(sums / (counts + 1e-5).unsqueeze(1))
            use = hot.mean(0)
            perplexity = (-(use * (use + 1e-10).log()).sum()).exp()
        picked = codes[chosen].view(h.shape[0], *h.shape[2:], 64).permute(0, 3, 1, 2)
        return h + (picked - h).detach(), F.mse_loss(h, picked), perplexity

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            h = encoder(images).float()
        with torch.autocast("cuda", enabled=False):
            h, commitment, perplexity = quantised(h)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = decoder(h)
        loss = F.l1_loss(out.float(), images) + 0.25 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return perplexity

    return step


def compiled_resnet():
    """A residual network under torch.compile: channels_last, bf16 autocast, SGD with Nesterov momentum."""

    class Bottleneck(nn.Module):
        def __init__(self, a, b, stride=1):
            super().__init__()
            self.convs = nn.ModuleList([nn.Conv2d(a, b, 1, bias=False), nn.Conv2d(b, b, 3, stride, 1, bias=False), nn.Conv2d(b, 4 * b, 1, bias=False)])
            self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n in (b, b, 4 * b))
            self.side = None if a == 4 * b and stride == 1 else nn.Sequential(nn.Conv2d(a, 4 * b, 1, stride, bias=False), nn.BatchNorm2d(4 * b))

        def forward(self, x):
            h = F.relu(self.norms[0](self.convs[0](x)))
            h = F.relu(self.norms[1](self.convs[1](h)))
            return F.relu(self.norms[2](self.convs[2](h)) + (x if self.side is None else self.side(x)))

    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Bottleneck(64, 64),
                          Bottleneck(256, 64), Bottleneck(256, 128, 2), Bottleneck(512, 128), Bottleneck(512, 256, 2), Bottleneck(1024, 256),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000)).cuda().to(memory_format=torch.channels_last)
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    images = torch.rand(96, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (96,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(compiled(images), labels)
        loss.backward()
        optimizer.step()

    return step


def pinned_loader():
    """A classifier of long signals whose loader makes batches in four worker processes and pins them; copies do not wait."""

    class Signals(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, index):
            signal = torch.randn(8, 4096, generator=torch.Generator().manual_seed(index))
            return (signal.cumsum(1) * 0.01).clamp(-3, 3), index % 30

    model = nn.Sequential(nn.Conv1d(8, 64, 15, 2, 7), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 128, 9, 2, 4), nn.BatchNorm1d(128), nn.ReLU(),
                          nn.Conv1d(128, 256, 5, 2, 2), nn.BatchNorm1d(256), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(256, 30)).cuda()
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-3)
    batches = iter(torch.utils.data.DataLoader(Signals(), batch_size=128, num_workers=4, pin_memory=True, persistent_workers=True))

    def step():
        signals, labels = (part.cuda(non_blocking=True) for part in next(batches))
        optimizer.zero_grad()
        F.cross_entropy(model(signals), labels).backward()
        optimizer.step()

    return step


MODELS = {"dual-state-space": dual_state_space, "anchor-detector": anchor_detector, "preference-pairs": preference_pairs,
          "force-field": force_field, "vector-quantiser": vector_quantiser, "compiled-resnet": compiled_resnet,
          "pinned-loader": pinned_loader}
