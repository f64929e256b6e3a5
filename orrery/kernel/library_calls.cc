#include "orrery/kernel/library_calls.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/kernel/embedded_power.h"

namespace orrery::kernel {
namespace {

using CallsOfVendor = std::map<std::string, LibraryCalls, std::less<>>;

CallsOfVendor ReadCalls() {
  CallsOfVendor calls;
  std::optional<Error> error;
  YamlFields file(YAML::Load(kEmbeddedLibraryCalls), "library calls", error);
  for (YamlFields& fields : file.Maps("vendors")) {
    LibraryCalls& read = calls[fields.Text("vendor")];
    read.factor = fields.Positive("factor");
    read.deviation = fields.Positive("deviation");
    read.source = fields.Text("source");
    fields.RefuseOthers();
  }
  ORRERY_CHECK(!error, error ? error->message() : "");
  return calls;
}

}  // namespace

const LibraryCalls& LibraryCallsOf(std::string_view vendor) {
  static const CallsOfVendor calls = ReadCalls();
  static const LibraryCalls none;
  const auto found = calls.find(vendor);
  return found == calls.end() ? none : found->second;
}

}  // namespace orrery::kernel
