#include "orrery/workload/keys/job_keys.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/workload/job_key_table.h"

namespace orrery::workload {

std::span<const JobKey> JobKeys() {
  return kJobKeys;
}

const JobKey* FindJobKey(std::string_view path) {
  const auto found = std::ranges::find(kJobKeys, path, &JobKey::path);
  return found == kJobKeys.end() ? nullptr : &*found;
}

void ReadKeys(std::string_view section, YamlFields& fields, const KeyOwners& owners) {
  for (const JobKey& key : kJobKeys) {
    if (key.section == section) {
      key.read(fields, owners);
    }
  }
}

}  // namespace orrery::workload
