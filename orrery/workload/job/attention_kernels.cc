#include "orrery/workload/job/attention_kernels.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/workload/embedded_attention_kernels.h"

namespace orrery::workload {
namespace {


struct KernelRate {
  AttentionKernel kernel = AttentionKernel::kFlash;
  std::string generation;
  double rate = 1;
};

constexpr std::array<Spelling<AttentionKernel>, 2> kOlderKernels{{
    {"flash2", AttentionKernel::kFlash2},
    {"flash1", AttentionKernel::kFlash1},
}};

std::vector<KernelRate> ReadRates() {
  std::vector<KernelRate> rates;
  std::optional<Error> error;
  for (const YAML::Node& node : YAML::Load(kEmbeddedAttentionKernels)["attention_kernels"]) {
    YamlFields fields(node, "kernel of attention", error);
    KernelRate rate;
    rate.kernel =
        fields.Choice("kernel", std::span<const Spelling<AttentionKernel>>(kOlderKernels));
    rate.generation = fields.Text("generation");
    rate.rate = fields.Positive("rate");
    fields.RefuseOthers();
    rates.push_back(rate);
  }
  ORRERY_CHECK(!error, error ? error->message() : "");
  return rates;
}

}  // namespace

double AttentionKernelRate(AttentionKernel kernel, std::string_view generation) {
  static const std::vector<KernelRate> rates = ReadRates();
  for (const KernelRate& rate : rates) {
    if (rate.kernel == kernel && rate.generation == generation) {
      return rate.rate;
    }
  }
  return 1;
}

}  // namespace orrery::workload
