#include "orrery/network/topology_text.h"

#include <algorithm>
#include <string_view>

#include "orrery/base/text.h"

namespace orrery::network {
namespace {

}  // namespace

Result<Topology> ReadTopologyText(std::string_view text, std::string_view file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && IsDigit(text[first])) {
    return ReadSimaiText(text, file);
  }
  if (text.find("npus_count") != std::string_view::npos) {
    return ReadAstraSimYaml(text, file);
  }
  return ReadTopologyYaml(text, file);
}

}  // namespace orrery::network
