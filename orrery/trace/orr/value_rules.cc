#include "orrery/trace/orr/value_rules.h"

#include <algorithm>
#include <array>

#include "orrery/base/check.h"

namespace orrery::trace::orr {
namespace {

struct Link {
  std::string_view column;
  std::string_view target;  // empty: the column's own table
};

// A name means the same in every table.
constexpr std::array kLinks{
    Link{"track", "tracks"},
    Link{"begin_track", "tracks"},
    Link{"end_track", "tracks"},
    Link{"shape", "launch_shapes"},
    Link{"launch", "runtime_calls"},
    Link{"call", "runtime_calls"},
    Link{"host_op", "host_ops"},
    Link{"forward_op", "host_ops"},
    Link{"annotation", "annotations"},
    Link{"host", "annotations"},
    Link{"collective", "collectives"},
    Link{"group", "process_groups"},
    Link{"graph_node", "graph_nodes"},
    Link{"parent", ""},
    Link{"activity", "activities"},
    Link{"object", "memory_objects"},
    Link{"first_lane", "access_lanes"},
};

}  // namespace

std::string_view LinkTarget(std::string_view table, std::string_view column) {
  const auto link = std::find_if(kLinks.begin(), kLinks.end(),
                                 [&](const Link& known) { return known.column == column; });
  ORRERY_CHECK(link != kLinks.end(), "every link column is listed with its table");
  return link->target.empty() ? table : link->target;
}

}  // namespace orrery::trace::orr
