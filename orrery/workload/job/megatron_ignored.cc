#include <array>

#include "orrery/workload/job/megatron_options.h"

namespace orrery::workload {
namespace {

constexpr auto kIgnored = std::to_array<MegatronOption>({
    {"adam-beta1"},
    {"adam-beta2"},
    {"adam-eps"},
    {"apply-layernorm-1p", false},
    {"attention-softmax-in-fp32", false},
    {"ckpt-format"},
    {"clip-grad"},
    {"data-cache-path"},
    {"data-path", true, nullptr, true},
    {"dataloader-type"},
    {"distributed-backend"},
    {"distributed-timeout-minutes"},
    {"eval-interval"},
    {"eval-iters"},
    {"exit-duration-in-mins"},
    {"exit-interval"},
    {"fp8-amax-compute-algo"},
    {"fp8-amax-history-len"},
    {"fp8-margin"},
    {"fp8-recipe"},
    {"init-method-std"},
    {"initial-loss-scale"},
    {"load"},
    {"log-interval"},
    {"log-throughput", false},
    {"lr"},
    {"lr-decay-iters"},
    {"lr-decay-samples"},
    {"lr-decay-style"},
    {"lr-warmup-fraction"},
    {"lr-warmup-iters"},
    {"lr-warmup-samples"},
    {"manual-gc", false},
    {"master-addr"},
    {"master-port"},
    {"merge-file"},
    {"min-lr"},
    {"mock-data", false},
    {"moe-aux-loss-coeff"},
    {"moe-grouped-gemm", false},
    {"moe-router-load-balancing-type"},
    {"no-load-optim", false},
    {"no-load-rng", false},
    {"no-masked-softmax-fusion", false},
    {"no-position-embedding", false},
    {"no-save-optim", false},
    {"node-rank"},
    {"norm-epsilon"},
    {"num-workers"},
    {"rotary-base"},
    {"rotary-percent"},
    {"save"},
    {"save-interval"},
    {"seed"},
    {"split"},
    {"tensorboard-dir"},
    {"tokenizer-model"},
    {"tokenizer-type"},
    {"train-iters"},
    {"train-samples"},
    {"transformer-impl"},
    {"use-mcore-models", false},
    {"vocab-file"},
    {"wandb-exp-name"},
    {"wandb-project"},
    {"weight-decay"},
});

}  // namespace

std::span<const MegatronOption> IgnoredMegatronOptions() {
  return kIgnored;
}

}  // namespace orrery::workload
