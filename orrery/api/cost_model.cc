#include "orrery/api/cost_model.h"

#include <memory>
#include <utility>

#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"

namespace orrery::api {

Result<std::shared_ptr<const kernel::CostModel>> KernelCosts(const Session& session) {
  return session.state().Costs({});
}

void UseKernelCosts(const Session& session, std::shared_ptr<const kernel::CostModel> costs) {
  session.state().SetCosts(std::move(costs));
}

}  // namespace orrery::api
