"""Plans of parallel training: the mesh of ranks, which ranks do the same work, which models a plan fits, and how a model is trained."""

import dataclasses


class Refusal(ValueError):
    """One sentence on what cannot be traced as asked, and what can."""


SCHEDULES = ("1f1b", "gpipe")


@dataclasses.dataclass(frozen=True)
class Plan:
    """Pipeline, data and tensor parallelism over `world` ranks, the last one innermost, as PyTorch's device
    meshes have it. `data` says how replicas agree: "ddp", or "fsdp2" where all state is spread over them."""

    pp: int = 1
    dp: int = 1
    tp: int = 1
    data: str = "ddp"
    sequence_parallel: bool = False
    microbatches: int = 1
    schedule: str = ""
    layers: int = 0  # of the model; stages share them

    @staticmethod
    def from_options(world=None, dp=None, tp=None, pp=None, fsdp=False, ddp=False, sequence_parallel=False,
                     microbatches=None, schedule=None, layers=0):
        """Completes what the user said; raises Refusal with the reason where parts do not fit."""
        tp, pp = tp or 1, pp or 1
        dp = dp or (world // (tp * pp) if world else 1)
        _check_sizes(world, dp, tp, pp, fsdp, ddp)
        is_sharded = fsdp or (tp > 1 and dp > 1)
        plan = Plan(pp=pp, dp=dp, tp=tp, data="fsdp2" if is_sharded else "ddp",
                    sequence_parallel=sequence_parallel, layers=layers,
                    microbatches=microbatches or (2 * pp if pp > 1 else 1),
                    schedule=(schedule or "1f1b") if pp > 1 else "")
        return plan._checked()

    def _checked(self):
        if self.sequence_parallel and self.tp == 1:
            raise Refusal("sequence parallelism needs tensor parallelism: --tp 2 or more")
        if self.pp == 1 and self.microbatches > 1:
            raise Refusal("--microbatches applies to pipelines only; without one, use --accumulation")
        if self.schedule not in ("", *SCHEDULES):
            raise Refusal(f"there is no schedule {self.schedule}: {' or '.join(SCHEDULES)}")
        if self.microbatches < self.pp:
            raise Refusal(f"a pipeline of {self.pp} stages needs at least {self.pp} micro-batches")
        if self.pp > 1 and self.layers < self.pp:
            raise Refusal(f"{self.layers} layers that are alike cannot be cut into {self.pp} stages")
        return self

    @property
    def world(self):
        return self.pp * self.dp * self.tp

    @property
    def kind(self):
        """Returns the name of trace.json."""
        parts = [name for name, size in (("pp", self.pp), ("tp", self.tp), (self.data, self.dp)) if size > 1]
        return "single" if not parts else parts[0] if len(parts) == 1 else "mixed"

    @property
    def sharding(self):
        return "full" if self.dp > 1 and self.data == "fsdp2" else "none"

    @property
    def mesh(self):
        return [("pp", self.pp, self.dp * self.tp), ("dp", self.dp, self.tp), ("tp", self.tp, 1)]

    def json(self):
        """Returns the section `plan` of trace.json."""
        return {"kind": self.kind, "sharding": self.sharding, "microbatches": self.microbatches,
                "schedule": self.schedule, "sequence_parallel": self.sequence_parallel,
                "mesh": [{"name": name, "size": size, "stride": stride} for name, size, stride in self.mesh]}

    def stage_of(self, rank):
        return rank // (self.dp * self.tp)

    def layers_of(self, stage, layers=None):
        """Returns (first, end) of a stage's layers; the first stages have one more where they do not divide."""
        share, rest = divmod(self.layers if layers is None else layers, self.pp)
        first = stage * share + min(stage, rest)
        return first, first + share + (1 if stage < rest else 0)

    def classes(self, ranks=None):
        """Returns [(rank, stands_for)]: one rank of each kind, or the given ones. Of several given ranks of one
        kind, each stands for itself and the first for all others too."""
        members = self._members()
        if not ranks:
            return [(group[0], ranks_to_text(group)) for group in members]
        for rank in ranks:
            if not 0 <= rank < self.world:
                raise Refusal(f"there is no rank {rank} in a world of {self.world}")
        return [(rank, self._stands_for(rank, sorted(set(ranks)), members)) for rank in sorted(set(ranks))]

    def left_out(self, ranks):
        """Returns the ranks, as text, for which none of the given ones stands."""
        given = set(ranks)
        return ranks_to_text(rank for group in self._members() if not given & set(group) for rank in group)

    def _members(self):
        groups = {}
        for rank in range(self.world):
            groups.setdefault(self._work(self.stage_of(rank)), []).append(rank)
        return list(groups.values())

    def _work(self, stage):
        """Tells stages with different work apart: replicas and tensor ranks of one stage all do the same. Under
        1F1B each stage begins with another number of forward passes, and so has an order of its own."""
        first, end = self.layers_of(stage)
        order = stage if self.schedule == "1f1b" else 0
        return stage == 0, stage == self.pp - 1, end - first, order

    @staticmethod
    def _stands_for(rank, given, members):
        group = next(group for group in members if rank in group)
        same = [other for other in given if other in group]
        if rank != same[0]:
            return ranks_to_text([rank])
        return ranks_to_text(other for other in group if other == rank or other not in same)


def _check_sizes(world, dp, tp, pp, fsdp, ddp):
    if min(dp, tp, pp) < 1:
        raise Refusal("--dp, --tp and --pp must be at least 1" if dp else
                        f"a world of {world} is smaller than {tp} x {pp} ranks of one replica")
    if world and dp * tp * pp != world:
        raise Refusal(f"dp {dp} x tp {tp} x pp {pp} is {dp * tp * pp}, not the {world} ranks of --world")
    if fsdp and ddp:
        raise Refusal("--fsdp and --ddp exclude each other")
    if ddp and tp > 1 and dp > 1:
        raise Refusal("PyTorch has no DDP beside tensor parallelism: say --fsdp")


# Kinds of Hugging Face models whose projections have the names of tensor_parallel.py.
SPLIT_KINDS = ("llama", "mistral", "qwen2", "qwen3")


def check_model(description, plan, settings):
    """Raises Refusal with the reason where the model cannot be spread like that."""
    if plan.pp > 1 and description.trunk is None:
        raise Refusal(f"{description.name} cannot be cut into stages: pipelines are for decoders like gpt2 and llama")
    if plan.pp > 1 and settings.accumulation > 1:
        raise Refusal("a pipeline accumulates over its micro-batches: say --microbatches, not --accumulation")
    if plan.tp > 1:
        _check_split(description, plan, settings)


def _check_split(description, plan, settings):
    kind = description.config.get("model_type", "")
    if kind == "gpt2":
        raise Refusal("GPT-2 of Hugging Face is made of Conv1D, which PyTorch's tensor parallelism does not split: "
                      "take a llama, or --pp, --fsdp or --ddp")
    if kind not in SPLIT_KINDS:
        raise Refusal(f"{description.name} cannot be split by tensor parallelism: {', '.join(SPLIT_KINDS)} can")
    config = description.config
    heads = config["num_attention_heads"]
    for name, count in (("heads", heads), ("key-value heads", config.get("num_key_value_heads") or heads)):
        if count % plan.tp:
            raise Refusal(f"{count} {name} of {description.name} do not divide over {plan.tp} ranks")
    if plan.sequence_parallel and settings.sequence % plan.tp:
        raise Refusal(f"a sequence of {settings.sequence} does not divide over {plan.tp} ranks")


def uneven_shards_remark(shapes, ranks):
    """One sentence on parameters of which the ranks hold different parts; empty where there are none."""
    uneven = sum(1 for shape in shapes if shape and shape[0] % ranks)
    if not uneven:
        return ""
    some = "1 parameter has" if uneven == 1 else f"{uneven} parameters have"
    return (f"{some} a first dimension that {ranks} ranks cannot share evenly: the last ranks hold less of it than the "
            "first, or nothing, while all exchange the same; ranks are taken as alike all the same.")


def ranks_to_text(ranks):
    """Sorted ranks with runs drawn together."""
    runs = []
    for rank in sorted(set(ranks)):
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def ranks_from_text(text):
    """The ranks; ValueError where the text is none."""
    ranks = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ranks += range(int(first), int(last if dash else first) + 1)
    return sorted(set(ranks))


PRECISIONS = ("bf16", "fp16", "fp32")
OPTIMIZERS = ("adamw", "sgd")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Training of one rank; `precision` with `autocast` keeps parameters in fp32."""

    micro_batch: int
    sequence: int
    accumulation: int = 1
    precision: str = "bf16"
    autocast: bool = False
    channels_last: bool = False
    optimizer: str = "adamw"
    seed: int = 1
    ddp_hook: bool = False  # the stand-in hook in the place of DDP's own reduction

    @staticmethod
    def from_options(description, batch=None, sequence=None, dtype=None, accumulation=None, optimizer=None,
                     ddp_hook=False):
        """Takes what the user said, and the model's defaults for the rest."""
        defaults = description.defaults
        precision, autocast = _types(dtype, defaults)
        if optimizer not in (None, *OPTIMIZERS):
            raise Refusal(f"there is no optimizer {optimizer}: {' or '.join(OPTIMIZERS)}")
        for name, number in (("batch", batch), ("sequence", sequence), ("accumulation", accumulation)):
            if number is not None and number < 1:
                raise Refusal(f"--{name} is {number}, but must be at least 1")
        if sequence and not defaults.sequence:
            raise Refusal(f"{description.name} has no sequence")
        return Settings(micro_batch=batch or defaults.batch, sequence=sequence or defaults.sequence,
                        accumulation=accumulation or 1, precision=precision, autocast=autocast,
                        channels_last=defaults.channels_last and precision != "fp32",
                        optimizer=optimizer or "adamw", ddp_hook=ddp_hook)

    def training(self):
        """Returns the section `training` of trace.json."""
        return {"micro_batch": self.micro_batch, "sequence": self.sequence, "accumulation": self.accumulation,
                "precision": self.precision, "autocast": self.autocast, "optimizer": self.optimizer}

    def computed_type(self):
        """Returns PyTorch's type of products."""
        import torch
        return {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[self.precision]

    def parameter_type(self):
        """Returns PyTorch's type of parameters, gradients and the optimizer's state."""
        import torch
        return torch.float32 if self.autocast else self.computed_type()


def _types(dtype, defaults):
    if dtype is None:
        return defaults.precision, defaults.autocast
    asks_autocast = dtype.startswith("autocast-")
    precision = dtype.removeprefix("autocast-").removeprefix("pure-")
    if precision not in PRECISIONS:
        raise Refusal(f"there is no type {dtype}: {', '.join(PRECISIONS)}, or autocast-bf16 for fp32 parameters")
    if precision == "fp32":
        return precision, False
    return precision, asks_autocast or (defaults.autocast and not dtype.startswith("pure-"))
