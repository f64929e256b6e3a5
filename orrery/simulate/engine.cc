#include "orrery/simulate/engine.h"

#include <utility>

#include "orrery/simulate/play.h"

namespace orrery::simulate {
namespace {

/// One rank alone never asks.
class NoCommunication : public CommunicationTimes {
 public:
  [[nodiscard]] Result<std::int64_t> DurationPs(
      const workload::Communications::Row& /*communication*/,
      std::span<const network::GpuId> /*gpus*/) override {
    return 0;
  }
};

}  // namespace

Result<Timeline> Run(const workload::Program& program, const RunOptions& options) {
  NoCommunication times;
  ORRERY_TRY(Performance played,
             Play(Solo(program), times,
                  {.repetitions = options.repetitions, .queue_depth = options.queue_depth}));
  return Timeline{.num_tasks = static_cast<std::int64_t>(program.tasks.size()),
                  .repetitions = options.repetitions,
                  .begin_ps = std::move(played.begin_ps),
                  .end_ps = std::move(played.end_ps)};
}

}  // namespace orrery::simulate
