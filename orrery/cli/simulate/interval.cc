#include "orrery/simulate/explain/interval.h"

#include <string>
#include <utility>

#include "orrery/cli/simulate/simulate.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::cli {

void AddInterval(const workload::Job& job, const workload::GeneratedJob& generated,
                 SimulationAnswer& answer) {
  answer.interval = simulate::IntervalOf(answer.summary.breakdown, job, generated.coverage);
  std::string why =
      simulate::WideIntervalSentence(answer.summary.breakdown, job, generated.coverage);
  if (!why.empty()) {
    answer.not_modelled.insert(answer.not_modelled.begin(), std::move(why));
  }
}

}  // namespace orrery::cli
