#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::nccl_tests {

/// Output of nccl-tests and rccl-tests, as printed by any version or written with `-J`. Gives one
/// table: test, nranks, size_bytes, count, data_type, redop, root; time_us, algbw_GBps, busbw_GBps
/// and wrong out of place (oop_) and in place (ip_); then what the header says of the run.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::nccl_tests
