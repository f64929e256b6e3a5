#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/workload/recorded/ranks/traced_job.h"

// The first byte says which of the files of a traced job gets the rest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 3 == 0) {
    const auto job = orrery::workload::ParseTracedJob(text);
    if (job) {
      (void)orrery::workload::SamplesOfStep(*job, job->world);
    }
  } else if (data[0] % 3 == 1) {
    (void)orrery::workload::ParseTracedSteps(text);
  } else {
    (void)orrery::workload::ParseTracedCollectives(text, 64);
  }
  return 0;
}
