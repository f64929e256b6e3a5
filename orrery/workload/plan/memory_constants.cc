#include "orrery/workload/plan/memory_constants.h"

#include <cmath>
#include <optional>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/workload/embedded_memory.h"

namespace orrery::workload {
namespace {

MemoryConstants ReadConstants() {
  std::optional<Error> error;
  const YAML::Node node = YAML::Load(kEmbeddedMemory)["memory"];
  YamlFields fields(node, "memory", error);
  MemoryConstants constants;
  constants.context_bytes = std::llround(fields.Positive("context_bytes"));
  constants.communicator_bytes = std::llround(fields.Positive("communicator_bytes"));
  constants.fragmentation = fields.Positive("fragmentation");
  constants.host_bytes_per_second = fields.Positive("host_bytes_per_second");
  constants.usable = fields.Positive("usable");
  fields.RefuseOthers();
  ORRERY_CHECK(!error, error ? error->message() : "");
  return constants;
}

}  // namespace

const MemoryConstants& DefaultMemoryConstants() {
  static const MemoryConstants constants = ReadConstants();
  return constants;
}

}  // namespace orrery::workload
