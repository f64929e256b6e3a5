"""The held-out models that were written after the host costs of replayed recordings were changed, and predicted before they
were measured.

As in first_half.py, each function builds a model and returns a function that runs one training step.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def temporal_convnet():
    """A temporal convolutional network: dilated causal conv1d with weight norm, fp32, RMSprop."""

    class Block(nn.Module):
        def __init__(self, channels, dilation):
            super().__init__()
            self.pad = 2 * dilation
            self.convs = nn.ModuleList(nn.utils.parametrizations.weight_norm(nn.Conv1d(channels, channels, 3, dilation=dilation))
                                       for _ in range(2))

        def forward(self, x):
            h = x
            for conv in self.convs:
                h = F.dropout(F.relu(conv(F.pad(h, (self.pad, 0)))), 0.1)
            return F.relu(x + h)

    model = nn.Sequential(nn.Conv1d(32, 256, 1), *(Block(256, 1 << level) for level in range(8)), nn.Conv1d(256, 64, 1)).cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
    x = torch.randn(32, 32, 1024, device="cuda")
    target = torch.randint(0, 64, (32, 1024), device="cuda")

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), target).backward()
        optimizer.step()

    return step


def policy_gradient():
    """PPO on a small network: many tiny operators, several minibatches a step, a scalar read back for early stopping."""
    body = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh()).cuda()
    actor, critic = nn.Linear(256, 8).cuda(), nn.Linear(256, 1).cuda()
    parameters = [*body.parameters(), *actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=3e-4, eps=1e-5)
    states = torch.randn(4096, 64, device="cuda")
    actions = torch.randint(0, 8, (4096,), device="cuda")
    old, returns, advantages = (torch.randn(4096, device="cuda") for _ in range(3))

    def step():
        for indices in torch.randperm(4096, device="cuda").split(1024):
            h = body(states[indices])
            policy = torch.distributions.Categorical(logits=actor(h), validate_args=False)
            ratio = (policy.log_prob(actions[indices]) - old[indices]).exp()
            gain = advantages[indices]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            loss = loss + 0.5 * F.mse_loss(critic(h).squeeze(-1), returns[indices]) - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
        if loss.item() > 1e9:
            raise RuntimeError("diverged")

    return step


def translation_model():
    """nn.Transformer with encoder, decoder and padding masks, bf16 autocast, tied embeddings, Adam with a schedule."""
    embedding = nn.Embedding(16000, 512, padding_idx=0).cuda()
    model = nn.Transformer(512, 8, 6, 6, 2048, dropout=0.1, batch_first=True).cuda()
    parameters = [*embedding.parameters(), *model.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-4, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) ** -0.5, (step + 1) * 4000 ** -1.5))
    source, target = (torch.randint(1, 16000, (48, 96), device="cuda") for _ in range(2))
    source[:, 80:] = 0
    mask = nn.Transformer.generate_square_subsequent_mask(95, device="cuda").bool()

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = model(embedding(source), embedding(target[:, :-1]), tgt_mask=mask, src_key_padding_mask=source == 0,
                        memory_key_padding_mask=source == 0)
            logits = out @ embedding.weight.t()
            loss = F.cross_entropy(logits.flatten(0, 1).float(), target[:, 1:].flatten(), ignore_index=0)
        loss.backward()
        optimizer.step()
        schedule.step()

    return step


def checkpointed_mixer():
    """An MLP-Mixer with checkpointed blocks, bf16 autocast, fused AdamW."""

    class Mixer(nn.Module):
        def __init__(self, patches=196, width=512):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.tokens = nn.Sequential(nn.Linear(patches, 256), nn.GELU(), nn.Linear(256, patches))
            self.channels = nn.Sequential(nn.Linear(width, 2048), nn.GELU(), nn.Linear(2048, width))

        def forward(self, x):
            x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.norms[1](x))

    blocks = nn.ModuleList(Mixer() for _ in range(8)).cuda()
    stem, head = nn.Conv2d(3, 512, 16, stride=16).cuda(), nn.Linear(512, 1000).cuda()
    parameters = [*stem.parameters(), *blocks.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, fused=True)
    images = torch.randn(64, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (64,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x = stem(images).flatten(2).transpose(1, 2)
            for block in blocks:
                x = checkpoint(block, x, use_reentrant=False)
            loss = F.cross_entropy(head(x.mean(1)), labels)
        loss.backward()
        optimizer.step()

    return step


MODELS = {"temporal-convnet": temporal_convnet, "policy-gradient": policy_gradient, "translation-model": translation_model,
          "checkpointed-mixer": checkpointed_mixer}
