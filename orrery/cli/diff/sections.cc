#include "orrery/cli/diff/sections.h"

namespace orrery::cli {

using analyze::diff::Cost;

std::vector<CostField> FieldsOf(const Section& section) {
  std::vector<CostField> fields{{"count", &Cost::count}, {"device_ns", &Cost::device_ns}};
  if (section.has_host_time) {
    fields.push_back({"host_ns", &Cost::host_ns});
  }
  if (section.has_wait) {
    fields.push_back({"wait_ns", &Cost::wait_ns});
  }
  if (section.has_bytes) {
    fields.push_back({"bytes", &Cost::bytes});
  }
  return fields;
}

std::string_view BetterName(analyze::Better better) {
  switch (better) {
    case analyze::Better::kLower:
      return "lower";
    case analyze::Better::kHigher:
      return "higher";
    case analyze::Better::kNeither:
      break;
  }
  return "neither";
}

}  // namespace orrery::cli
