#include "orrery/simulate/explain/interval.h"

#include "orrery/api/simulate/answer.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::api {

void AddInterval(const workload::Job& job, const workload::GeneratedJob& generated,
                 SimulationAnswer& answer) {
  answer.interval = simulate::IntervalOf(answer.summary.breakdown, job, generated.coverage);
  answer.interval_note =
      simulate::WideIntervalSentence(answer.summary.breakdown, job, generated.coverage);
}

}  // namespace orrery::api
