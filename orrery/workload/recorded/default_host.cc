#include "orrery/workload/recorded/default_host.h"

#include "orrery/base/check.h"
#include "orrery/base/csv.h"
#include "orrery/workload/embedded_host.h"

namespace orrery::workload {

const HostModel& DefaultHost() {
  static const HostModel kModel = [] {
    const Result<Table> table = ParseCsv(kEmbeddedHost);
    ORRERY_CHECK(table.has_value(), table ? "" : table.error().message());
    Result<HostModel> model = HostModelOf(*table);
    ORRERY_CHECK(model.has_value(), model ? "" : model.error().message());
    return *std::move(model);
  }();
  return kModel;
}

}  // namespace orrery::workload
