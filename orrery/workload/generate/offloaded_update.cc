#include "orrery/workload/generate/offloaded_update.h"

#include <cmath>

#include "orrery/workload/plan/memory_constants.h"
#include "orrery/workload/plan/state_memory.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kPieces = 16;
constexpr double kPicoseconds = 1e12;

std::int64_t PicosecondsFor(double bytes, double bytes_per_second) {
  return bytes_per_second > 0 ? std::llround(bytes / bytes_per_second * kPicoseconds) : 0;
}

}  // namespace

void WriteOffloadedUpdate(const Job& job, std::int64_t parameters, ProgramWriter& writer) {
  const Precision& precision = job.training.precision;
  const double piece = static_cast<double>(parameters) / kPieces;
  // States are read and written, the gradient is read, the parameter is written.
  const int touched =
      2 * OptimizerBytes(job.training) + precision.gradient_bytes + precision.gathered_bytes;
  const std::int64_t out_ps =
      PicosecondsFor(piece * precision.gradient_bytes, job.gpu.host_link.bytes_per_second);
  const std::int64_t update_ps =
      PicosecondsFor(piece * touched, DefaultMemoryConstants().host_bytes_per_second);
  const std::int64_t back_ps =
      PicosecondsFor(piece * precision.gathered_bytes, job.gpu.host_link.bytes_per_second);
  const TaskId ready = writer.last_compute();
  for (std::int64_t i = 0; i < kPieces; ++i) {
    const TaskId out =
        writer.WriteAside(ProgramWriter::Aside::kToHost, "copy gradients out", out_ps, ready);
    const TaskId update =
        writer.WriteAside(ProgramWriter::Aside::kOnHost, "update on the host", update_ps, out);
    writer.WaitFor(writer.WriteAside(ProgramWriter::Aside::kFromHost, "copy parameters back",
                                     back_ps, update));
  }
}

}  // namespace orrery::workload
