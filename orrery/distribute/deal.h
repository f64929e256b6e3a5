#pragma once

#include <functional>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"

namespace orrery::distribute {

/// The result of WithDealer on processes other than the root, which alone reports results.
inline constexpr int kServed = -1;

/// Runs `body` with a dealer to all processes that mpirun or srun has started; of a process that
/// was started alone, to its threads. 0 threads: the cores of a machine are shared by the processes
/// on it.
///
/// The body runs on every process. What it returns is returned by the root alone; errors of other
/// processes are left to the root.
[[nodiscard]] Result<int> WithDealer(int threads,
                                     const std::function<Result<int>(WorkDealer&)>& body);

}  // namespace orrery::distribute
