#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {

/// Writes small recordings of two threads and one stream for tests. Times in µs multiplied by
/// `pace`.
class RecordingWriter {
 public:
  explicit RecordingWriter(std::int64_t pace = 1) : pace_(pace) {
    thread_ = trace.tracks.Append({.process = 1, .thread = 11});
    backward_thread_ = trace.tracks.Append({.process = 1, .thread = 12});
    stream_ = trace.tracks.Append({.kind = trace::TrackKind::kDevice, .thread = 7, .device = 0});
  }

  /// What is written from now on is on the other thread.
  void SwitchThread() { std::swap(thread_, backward_thread_); }

  trace::RowId Operator(const std::string& name, std::int64_t begin, std::int64_t end,
                        std::int64_t sequence = -1, std::int64_t forward_thread = -1) {
    return trace.host_ops.Append({.begin_ns = begin * 1000 * pace_,
                                  .duration_ns = (end - begin) * 1000 * pace_,
                                  .name = trace.strings.Intern(name),
                                  .track = thread_,
                                  .sequence = sequence,
                                  .forward_thread = forward_thread});
  }

  void Annotation(const std::string& name, std::int64_t begin, std::int64_t end) {
    trace.annotations.Append({.begin_ns = begin * 1000 * pace_,
                              .duration_ns = (end - begin) * 1000 * pace_,
                              .name = trace.strings.Intern(name),
                              .track = thread_});
  }

  /// The kernel begins 1.5 µs behind the launch, or at `kernel_begin`.
  void Launch(std::int64_t begin, std::int64_t end, std::int64_t kernel_ns,
              std::int64_t kernel_begin = -1) {
    const std::int64_t end_ns = end * 1000 * pace_;
    Call("cudaLaunchKernel", begin, end);
    trace.activities.Append(
        {.begin_ns = kernel_begin < 0 ? end_ns + 1500 : kernel_begin * 1000 * pace_,
         .duration_ns = kernel_ns,
         .name = trace.strings.Intern("kernel"),
         .track = stream_,
         .correlation = correlation_});
  }

  void Synchronize(std::int64_t begin, std::int64_t end) {
    Call("cudaStreamSynchronize", begin, end);
  }

  trace::Trace Finish() {
    trace::FinishTrace(trace);
    return std::move(trace);
  }

  trace::Trace trace;

 private:
  void Call(const std::string& name, std::int64_t begin, std::int64_t end) {
    trace.runtime_calls.Append({.begin_ns = begin * 1000 * pace_,
                                .duration_ns = (end - begin) * 1000 * pace_,
                                .name = trace.strings.Intern(name),
                                .track = thread_,
                                .correlation = ++correlation_});
  }

  std::int64_t pace_;
  std::int64_t correlation_ = 0;
  trace::RowId thread_ = 0;
  trace::RowId backward_thread_ = 0;
  trace::RowId stream_ = 0;
};

}  // namespace orrery::workload
