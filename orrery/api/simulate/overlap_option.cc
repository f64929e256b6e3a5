#include "orrery/api/simulate/overlap_option.h"

#include <string>

#include "orrery/api/errors.h"
#include "orrery/base/error.h"
#include "orrery/simulate/simulation.h"

namespace orrery::api {

Result<simulate::OverlapKind> OverlapNamed(const std::string& name) {
  if (name == "none") {
    return simulate::OverlapKind::kNone;
  }
  if (name == "analytic") {
    return simulate::OverlapKind::kAnalytic;
  }
  if (name == "model") {
    return simulate::OverlapKind::kModel;
  }
  return InvalidInput("--overlap: '{}' is none of analytic|model|none", name);
}

}  // namespace orrery::api
