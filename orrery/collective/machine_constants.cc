#include "orrery/collective/machine_constants.h"

#include <string>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/collective/embedded_closed_form.h"

namespace orrery::collective {

namespace {

/// In the order of `Constant`.
constexpr std::array<ConstantInfo, kNumConstants> kInfos = {{
    {"start_us", 0.5, 100},
    {"simple_start_us", 0.5, 300},
    {"ll_hop_us", 0.05, 30},
    {"simple_hop_us", 0.05, 60},
    {"link_share", 0.05, 1.25},
    {"ll_link_share", 0.005, 0.6},
    {"sharpness", 0.5, 3},
    {"own_share", 0, 3},
    {"network_share", 0.05, 1},
    {"ll_network_hop_us", 0.2, 100},
    {"simple_network_hop_us", 0.2, 200},
    {"nvls_share", 0.05, 1.25},
    {"direct_share", 0.1, 1.3},
    {"pcie_crowding", 0.01, 4},
}};

struct ClosedFormFile {
  ClosedFormShape shape;
  MachineConstants defaults;
};

// The file is embedded: an error in it is a bug.
ClosedFormFile ReadEmbedded() {
  const YAML::Node file = YAML::Load(kEmbeddedClosedForm);
  const YAML::Node shape = file["shape"];
  const auto get = [&](const char* name) { return shape[name].as<double>(); };
  ClosedFormFile read;
  read.shape = {.ll_sharpness = get("ll_sharpness"),
                .ll128_sharpness = get("ll128_sharpness"),
                .nvls_sharpness = get("nvls_sharpness"),
                .direct_sharpness = get("direct_sharpness"),
                .ll128_link = get("ll128_link"),
                .ll128_network = get("ll128_network"),
                .ll_network = get("ll_network"),
                .ll128_start = get("ll128_start"),
                .ll128_network_hop = get("ll128_network_hop"),
                .ring_network_hop = get("ring_network_hop"),
                .nvls_start = get("nvls_start"),
                .direct_start = get("direct_start"),
                .direct_start_bytes = get("direct_start_bytes"),
                .direct_own = get("direct_own")};
  for (std::size_t i = 0; i < kNumConstants; ++i) {
    const double value = file["defaults"][std::string(kInfos[i].name)].as<double>();
    ORRERY_CHECK(value >= kInfos[i].least && value <= kInfos[i].most, "a default out of bounds");
    read.defaults.Set(static_cast<Constant>(i), value);
  }
  return read;
}

const ClosedFormFile& Embedded() {
  static const ClosedFormFile file = ReadEmbedded();
  return file;
}

}  // namespace

const ConstantInfo& InfoOf(Constant constant) {
  return kInfos[static_cast<std::size_t>(constant)];
}

const ClosedFormShape& CommonShape() {
  return Embedded().shape;
}

const MachineConstants& DefaultConstants() {
  return Embedded().defaults;
}

}  // namespace orrery::collective
