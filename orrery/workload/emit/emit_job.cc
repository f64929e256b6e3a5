#include "orrery/workload/emit/emit_job.h"

#include "orrery/base/error.h"
#include "orrery/workload/emit/deepspeed_file.h"
#include "orrery/workload/emit/megatron_command.h"
#include "orrery/workload/emit/nemo_overrides.h"
#include "orrery/workload/emit/torchtitan_file.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

Result<EmittedJob> EmitJob(const Job& job, LaunchFormat format) {
  switch (format) {
    case LaunchFormat::kMegatron:
      return MegatronCommand(job);
    case LaunchFormat::kNemo:
      return NemoOverrides(job);
    case LaunchFormat::kTorchtitan:
      return TorchtitanFile(job);
    case LaunchFormat::kDeepSpeed:
      break;
  }
  return DeepSpeedFile(job);
}

}  // namespace orrery::workload
