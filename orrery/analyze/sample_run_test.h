#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/trace/finish.h"
#include "orrery/trace/trace_set.h"

/// Small runs for the tests of the analysis, written as a person would draw them. Times in µs.
namespace orrery::analyze::test_run {

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Builds the trace of one rank: host rows on threads, device rows on streams of device 0.
class Rank {
 public:
  explicit Rank(std::int32_t number) {
    trace_.info.rank = number;
    trace_.info.time_origin = trace::TimeOrigin::kEpoch;
  }

  /// A call of the runtime; returns its correlation id.
  std::int64_t Call(Span span, std::string_view name = "cudaLaunchKernel",
                    std::int64_t thread = 1) {
    trace_.runtime_calls.Append({.begin_ns = span.begin * 1000,
                                 .duration_ns = (span.end - span.begin) * 1000,
                                 .name = Text(name),
                                 .track = HostTrack(thread),
                                 .correlation = ++last_correlation_});
    return last_correlation_;
  }

  Rank& Operator(std::string_view name, Span span, std::int64_t thread = 1) {
    trace_.host_ops.Append({.begin_ns = span.begin * 1000,
                            .duration_ns = (span.end - span.begin) * 1000,
                            .name = Text(name),
                            .track = HostTrack(thread)});
    return *this;
  }

  Rank& Kernel(std::string_view name, Span span, std::int64_t stream = 7,
               std::int64_t correlation = -1) {
    AddActivity(name, span, stream, correlation, trace::ActivityKind::kKernel);
    return *this;
  }

  Rank& Copy(std::string_view name, Span span, std::int64_t bytes = -1, std::int64_t stream = 7,
             std::int64_t correlation = -1) {
    AddActivity(name, span, stream, correlation, trace::ActivityKind::kMemcpy);
    trace_.activities.bytes.back() = bytes;
    return *this;
  }

  /// A group of ranks, as a JSON array; returns the row for Collective.
  RowId Group(std::string_view name, std::string_view ranks, std::int32_t size,
              std::string_view description = "") {
    return trace_.process_groups.Append({.name = Text(name),
                                         .description = Text(description),
                                         .num_ranks = size,
                                         .ranks = Text(ranks)});
  }

  struct Communication {
    CollectiveKind kind = CollectiveKind::kAllReduce;
    Span span = {};
    RowId group = kNoRow;
    std::int64_t bytes = -1;
    std::int64_t sequence = -1;
    std::int32_t peer = -1;
    std::int64_t stream = 20;
    std::int64_t correlation = -1;
    std::string in_splits = {};
  };

  /// A collective and its kernel.
  Rank& Collective(const Communication& call) {
    constexpr std::string_view kName = "ncclDevKernel_Generic(ncclDevComm*)";
    AddActivity(kName, call.span, call.stream, call.correlation, trace::ActivityKind::kKernel);
    trace_.collectives.Append({.begin_ns = call.span.begin * 1000,
                               .duration_ns = (call.span.end - call.span.begin) * 1000,
                               .name = Text(kName),
                               .kind = call.kind,
                               .group = call.group,
                               .in_bytes = call.bytes,
                               .out_bytes = call.bytes,
                               .in_splits = Text(call.in_splits),
                               .sequence = call.sequence,
                               .peer = call.peer,
                               .track = StreamTrack(call.stream),
                               .num_kernels = 1});
    return *this;
  }

  Rank& Step(std::int64_t number, Span span, std::int64_t thread = 1) {
    trace_.annotations.Append({.begin_ns = span.begin * 1000,
                               .duration_ns = (span.end - span.begin) * 1000,
                               .name = Text("ProfilerStep#" + std::to_string(number)),
                               .track = HostTrack(thread)});
    return *this;
  }

  Rank& Annotation(std::string_view name, Span span, std::int64_t thread = 1) {
    trace_.annotations.Append({.begin_ns = span.begin * 1000,
                               .duration_ns = (span.end - span.begin) * 1000,
                               .name = Text(name),
                               .track = HostTrack(thread)});
    return *this;
  }

  /// A stream that waits for an event: `record` and `wait` are the correlations of the two calls.
  Rank& StreamWaitsForEvent(std::int64_t wait, std::int64_t waiting_stream, std::int64_t record,
                            std::int64_t recorded_stream, std::int64_t begin) {
    trace_.syncs.Append({.begin_ns = begin * 1000,
                         .name = Text("Stream Wait Event"),
                         .track = StreamTrack(waiting_stream),
                         .kind = trace::SyncKind::kStreamWaitEvent,
                         .device = 0,
                         .stream = waiting_stream,
                         .correlation = wait,
                         .wait_on_stream = recorded_stream,
                         .record_correlation = record});
    return *this;
  }

  /// Sorts, links and hands out the trace; nothing may be added afterwards.
  trace::Trace Finish() {
    trace::FinishTrace(trace_);
    for (RowId row = 0; row < trace_.activities.size(); ++row) {
      LinkCollective(row);
    }
    return std::move(trace_);
  }

  trace::Trace& trace() { return trace_; }

 private:
  StringId Text(std::string_view text) { return trace_.strings.Intern(text); }

  RowId TrackOf(trace::TrackKind kind, std::int64_t thread, std::int32_t device) {
    for (RowId row = 0; row < trace_.tracks.size(); ++row) {
      if (trace_.tracks.kind[row] == kind && trace_.tracks.thread[row] == thread) {
        return row;
      }
    }
    return trace_.tracks.Append({.kind = kind, .thread = thread, .device = device});
  }

  RowId HostTrack(std::int64_t thread) { return TrackOf(trace::TrackKind::kHost, thread, -1); }

  RowId StreamTrack(std::int64_t stream) { return TrackOf(trace::TrackKind::kDevice, stream, 0); }

  void AddActivity(std::string_view name, Span span, std::int64_t stream, std::int64_t correlation,
                   trace::ActivityKind kind) {
    trace_.activities.Append({.begin_ns = span.begin * 1000,
                              .duration_ns = (span.end - span.begin) * 1000,
                              .name = Text(name),
                              .track = StreamTrack(stream),
                              .kind = kind,
                              .correlation = correlation});
  }

  void LinkCollective(RowId activity) {
    for (RowId row = 0; row < trace_.collectives.size(); ++row) {
      if (trace_.collectives.begin_ns[row] == trace_.activities.begin_ns[activity] &&
          trace_.collectives.track[row] == trace_.activities.track[activity] &&
          trace_.collectives.name[row] == trace_.activities.name[activity]) {
        trace_.activities.collective[activity] = row;
      }
    }
  }

  trace::Trace trace_;
  std::int64_t last_correlation_ = 0;
};

}  // namespace orrery::analyze::test_run
