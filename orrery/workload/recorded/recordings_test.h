#pragma once

#include <cstdint>
#include <map>
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

  /// Puts all later calls on the other thread.
  void SwitchThread() { std::swap(thread_, backward_thread_); }

  RowId Operator(const std::string& name, std::int64_t begin, std::int64_t end,
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

  /// Launches on that stream from now on.
  void SwitchStream(std::int64_t number) {
    stream_number_ = number;
    for (RowId track = 0; track < trace.tracks.size(); ++track) {
      if (trace.tracks.kind[track] == trace::TrackKind::kDevice &&
          trace.tracks.thread[track] == number) {
        stream_ = track;
        return;
      }
    }
    stream_ =
        trace.tracks.Append({.kind = trace::TrackKind::kDevice, .thread = number, .device = 0});
  }

  /// An event of the stream, 1 µs; returns what tells it from others.
  std::int64_t RecordEvent(std::int64_t begin) {
    Call("cudaEventRecord", begin, begin + 1);
    stream_of_event_[correlation_] = stream_number_;
    return correlation_;
  }

  /// The stream waits for an event, 1 µs.
  void WaitForEvent(std::int64_t begin, std::int64_t event) {
    Call("cudaStreamWaitEvent", begin, begin + 1);
    AddSync(trace::SyncKind::kStreamWaitEvent, begin, event);
  }

  /// The host waits for an event.
  void SynchronizeEvent(std::int64_t begin, std::int64_t end, std::int64_t event) {
    Call("cudaEventSynchronize", begin, end);
    AddSync(trace::SyncKind::kEvent, begin, event);
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

  void AddSync(trace::SyncKind kind, std::int64_t begin, std::int64_t event) {
    trace.syncs.Append({.begin_ns = begin * 1000 * pace_,
                        .kind = kind,
                        .stream = stream_number_,
                        .correlation = correlation_,
                        .wait_on_stream = stream_of_event_.at(event),
                        .record_correlation = event});
  }

  std::int64_t pace_;
  std::int64_t stream_number_ = 7;
  std::map<std::int64_t, std::int64_t> stream_of_event_;
  std::int64_t correlation_ = 0;
  RowId thread_ = 0;
  RowId backward_thread_ = 0;
  RowId stream_ = 0;
};

}  // namespace orrery::workload
