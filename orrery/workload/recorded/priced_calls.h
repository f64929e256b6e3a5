#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {

/// A call that runs work on the GPU, with the calls it makes.
struct PricedCall {
  RowId node = kNoRow;  // GraphNodes, or HostOps of a recording
  kernel::AtenMeaning meaning = kernel::AtenMeaning::kPriced;
  std::shared_ptr<const std::vector<kernel::Operator>> operators;  // that equal calls share
  std::int64_t launches = 0;  // kernel::AtenOperators::launches
};

/// Returns the calls of an execution trace that are estimated and the unknown ones, in order of
/// begin. Each is looked at from the outside in; below an estimated call no other one is estimated.
///
/// A call is passed by for those below it when it only passes on, when it is not understood and
/// a call below it is estimated, and when it is handed to Python or to a call of its own name, in
/// place or not: the tensors of a sharded tensor's call have the sizes of all ranks together, and
/// only the calls below have those of this rank. Copies that make an input of an estimated call
/// contiguous are estimated too.
[[nodiscard]] std::vector<PricedCall> PricedCalls(const trace::Trace& graph,
                                                  bool products_allow_tf32 = false);

/// Returns true if matrix products of fp32 ran in TF32, as the names of recorded kernels say; no
/// call does.
[[nodiscard]] bool ProductsRanInTf32(const trace::Trace& recording);

/// The same for the operators of a recording, whose shapes the profiler was asked for.
[[nodiscard]] std::vector<PricedCall> PricedOperators(const trace::Trace& recording);

/// Tells, for each call, which share of the bytes it reads is still in the cache because a call
/// shortly before wrote or read them: those of storages touched less than `cache` bytes of other
/// tensors ago (least recently used goes first). Calls in order; 0 where storages are not recorded.
[[nodiscard]] std::vector<double> WarmShares(const trace::Trace& graph,
                                             std::span<const PricedCall> calls, Bytes cache);

/// All that decides what an operator of a profile asks for.
using CallTexts = std::array<StringId, 5>;

[[nodiscard]] CallTexts TextsOf(const trace::HostOps& ops, RowId host_op);

}  // namespace orrery::workload
