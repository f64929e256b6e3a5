#pragma once

#include <memory>

#include "orrery/api/export.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"

// Cost models of kernels that a program brings along.

namespace orrery::api {

/// The model that estimates kernels in this session: the shipped one, unless UseKernelCosts
/// replaced it.
[[nodiscard]] ORRERY_API Result<std::shared_ptr<const kernel::CostModel>> KernelCosts(
    const Session& session);

/// Estimates kernels of all later simulations with `costs`, which any thread may call. Its
/// estimates are remembered: it is asked once for each operator and GPU. Requests that name model
/// files use these instead.
ORRERY_API void UseKernelCosts(const Session& session,
                               std::shared_ptr<const kernel::CostModel> costs);

}  // namespace orrery::api
