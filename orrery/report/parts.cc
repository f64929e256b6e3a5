#include "orrery/report/parts.h"

#include <algorithm>
#include <array>

namespace orrery::report {
namespace {

struct ClassStyle {
  std::string_view path_class;
  std::string_view style;
};

constexpr std::array kClassStyles{
    ClassStyle{"compute", "compute"},
    ClassStyle{"transfer", "transfer"},
    ClassStyle{"communication", "transfer"},
    ClassStyle{"memory", "memory"},
    ClassStyle{"host", "host"},
    ClassStyle{"host_gap", "host-gap"},
    ClassStyle{"launch", "launch"},
    ClassStyle{"launch_overhead", "launch-overhead"},
    ClassStyle{"device_wait", "device-wait"},
    ClassStyle{"sync", "sync"},
};

}  // namespace

const std::vector<draw::Series>& PartSeries() {
  static const std::vector<draw::Series> kSeries{
      {.name = "compute", .style = "compute"},
      {.name = "communication: transfer", .style = "transfer"},
      {.name = "communication: waiting", .style = "waiting"},
      {.name = "memory", .style = "memory"},
      {.name = "idle", .style = "idle"}};
  return kSeries;
}

std::string_view PathClassStyle(std::string_view path_class) {
  const auto* const found = std::ranges::find(kClassStyles, path_class, &ClassStyle::path_class);
  return found == kClassStyles.end() ? std::string_view("other") : found->style;
}

}  // namespace orrery::report
