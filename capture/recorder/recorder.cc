#include "capture/recorder/recorder.h"

#include <algorithm>
#include <tuple>
#include <variant>

#include <unistd.h>

#include "capture/recorder/demangled.h"
#include "orrery/stream/codes.h"
#include "orrery/stream/writer.h"

namespace orrery::capture {
namespace {

namespace codes = stream::codes;

/// Appends to a chunk of its own, for records that are written outside threads' buffers.
template <typename Record>
void AppendTo(stream::ChunkBuilder& chunk, const Record& record, ChunkSink& sink) {
  if (chunk.Append(record)) {
    return;
  }
  sink.Write(chunk.Seal(), chunk.num_records());
  chunk.Clear();
  static_cast<void>(chunk.Append(record));
}

}  // namespace

Recorder::Recorder(RecorderSettings settings, const Clock& clock)
    : settings_(std::move(settings)),
      clock_(clock),
      numbering_(settings_.ordering, clock.now_ns()),
      buffers_(settings_.chunk_bytes, sink_) {
  is_open_ = !settings_.path.empty() && sink_.Open(settings_.path, settings_.limit_bytes);
}

Recorder::~Recorder() {
  Finish();
}

std::uint64_t Recorder::Allocated(stream::Allocation allocation) {
  Stamp(allocation);
  return Defers(allocation) ? 0 : AllocatedLate(allocation);
}

void Recorder::Freed(stream::Free free) {
  Stamp(free);
  if (!Defers(free)) {
    FreedLate(free);
  }
}

std::uint64_t Recorder::AllocatedLate(stream::Allocation allocation) {
  allocation.object = objects_.Begin(allocation.level, allocation.address);
  Write(allocation);
  Tell([&](RecorderListener& listener) { listener.OnAllocated(allocation); });
  return allocation.object;
}

void Recorder::FreedLate(stream::Free free) {
  free.object = objects_.End(free.level, free.address, free.phase != codes::kFreeRequested);
  Write(free);
  Tell([&](RecorderListener& listener) { listener.OnFreed(free); });
}

std::uint64_t Recorder::Existing(stream::Object object, std::uint64_t level) {
  object.id = objects_.Begin(level, object.address);
  Write(object);
  const stream::Allocation allocation{.object = object.id,
                                      .address = object.address,
                                      .bytes = object.bytes,
                                      .level = level,
                                      .device = object.device,
                                      .stream = object.stream};
  Tell([&](RecorderListener& listener) { listener.OnAllocated(allocation); });
  return object.id;
}

std::uint64_t Recorder::Text(std::string_view text) {
  KnownTexts* const texts = buffers_.Mine().known_texts();
  KnownTexts::Known* const known = texts == nullptr ? nullptr : &texts->PlaceOf(text);
  if (known != nullptr && known->Is(text)) [[likely]] {
    return known->id;
  }
  const Names::Number number = names_.Text(text);
  if (number.is_new) {
    Write(stream::String{.id = number.id, .text = text});
  }
  if (known != nullptr) {
    known->Set(text, number.id);
  }
  return number.id;
}

std::uint64_t Recorder::Stack(std::uint64_t language, std::span<const std::string_view> frames) {
  std::vector<std::uint64_t> texts;
  texts.reserve(frames.size());
  for (const std::string_view frame : frames) {
    texts.push_back(Text(frame));
  }
  const Names::Number number = names_.Stack(language, texts);
  if (number.is_new) {
    Write(stream::Stack{.id = number.id, .language = language, .frames = texts});
  }
  return number.id;
}

std::uint64_t Recorder::Function(std::string_view name, std::uint64_t module, std::uint64_t bytes,
                                 bool has_tensor_maps) {
  const Names::Number number = names_.Function(module, name);
  if (number.is_new) {
    Write(stream::Function{.id = number.id,
                           .module = module,
                           .name = Text(Demangled(name)),
                           .bytes = bytes,
                           .has_tensor_maps = has_tensor_maps ? 1U : 0U});
  }
  return number.id;
}

std::uint64_t Recorder::Module(std::uint64_t context, std::uint64_t handle, std::string_view hash,
                               std::string_view name, std::uint64_t bytes) {
  const Names::Number number = names_.Module(context, handle);
  if (number.is_new) {
    Write(stream::Module{
        .id = number.id, .context = context, .hash = hash, .name = Text(name), .bytes = bytes});
  }
  return number.id;
}

std::uint64_t Recorder::OperatorBegin(std::string_view name, std::int64_t sequence,
                                      std::uint64_t scope, std::uint64_t forward_thread) {
  return Record(stream::OperatorBegin{.name = Text(name),
                                      .sequence_number = sequence,
                                      .scope = scope,
                                      .forward_thread = forward_thread});
}

std::uint64_t Recorder::DetailBegin(std::string_view kernels, std::uint64_t launches) {
  const std::uint64_t id = ++last_detail_;
  Tell([&](RecorderListener& listener) {
    listener.OnDetailBegin({.id = id, .kernels = kernels, .launches = launches});
  });
  return id;
}

void Recorder::SetFacts(const MachineFacts& facts) {
  const std::lock_guard lock(mutex_);
  facts_.driver = facts.driver.empty() ? facts_.driver : facts.driver;
  facts_.toolkit = facts.toolkit.empty() ? facts_.toolkit : facts.toolkit;
  facts_.framework = facts.framework.empty() ? facts_.framework : facts.framework;
  facts_.rank = facts.rank < 0 ? facts_.rank : facts.rank;
  facts_.world_size = facts.world_size < 0 ? facts_.world_size : facts.world_size;
}

void Recorder::Count(std::uint64_t kind, std::string_view name, std::uint64_t count,
                     std::int64_t device) {
  const std::lock_guard lock(mutex_);
  counts_[{kind, std::string(name), device}] += count;
}

void Recorder::AddOverhead(std::uint64_t phase, std::int64_t time_ns, std::uint64_t bytes,
                           std::int64_t device) {
  const std::lock_guard lock(mutex_);
  Cost& cost = costs_[{phase, device}];
  cost.total_ns += static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns, 0));
  cost.bytes += bytes;
  ++cost.count;
}

void Recorder::Flush() {
  Tell([](RecorderListener& listener) { listener.OnFlush(); });
  WriteOut();
}

void Recorder::WriteOut() {
  if (!is_open_ || is_finished_) {
    return;
  }
  WriteHeader();
  WriteDeferred();
  if (is_deferring_) {
    buffers_.MakeReady();
  }
  buffers_.FlushAll();
}

// Threads that share memory (the allocator, under its lock) must be seen in their order: what is
// put aside on one thread while another's was taken already waits for the next time.
void Recorder::WriteDeferred() {
  const std::lock_guard lock(writing_deferred_);
  const std::uint64_t last = is_deferring_ ? numbering_.last() : ~std::uint64_t{0};
  buffers_.TakeDeferred(deferred_);
  const auto number_of = [](const DeferredEvent& event) {
    return std::visit([](const auto& one) { return one.sequence; }, event);
  };
  if (!std::ranges::is_sorted(deferred_, {}, number_of)) {
    std::ranges::sort(deferred_, {}, number_of);
  }
  const auto end = std::ranges::upper_bound(deferred_, last, {}, number_of);
  for (const DeferredEvent& event : std::ranges::subrange(deferred_.begin(), end)) {
    std::visit(
        [this]<typename Event>(const Event& one) {
          if constexpr (std::is_same_v<Event, stream::Allocation>) {
            AllocatedLate(one);
          } else if constexpr (std::is_same_v<Event, stream::Free>) {
            FreedLate(one);
          } else {
            Write(one);
          }
        },
        event);
  }
  deferred_.erase(deferred_.begin(), end);
}

void Recorder::Finish() {
  if (!is_open_ || is_finished_.exchange(true)) {
    return;
  }
  WriteHeader();
  SetDeferring(false);
  WriteDeferred();
  buffers_.FlushAll();
  sink_.Stop();
  buffers_.FlushAll();
  CountOwnLosses();
  WriteSums();
  sink_.Close();
}

void Recorder::Abandon() noexcept {
  is_finished_ = true;
  sink_.Abandon();
}

void Recorder::WriteHeader() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_header_, true)) {
    return;
  }
  stream::ChunkBuilder chunk(stream::ChunkType::kHeader);
  AppendTo(chunk,
           stream::Process{.producer = settings_.producer,
                           .host = settings_.host,
                           .process = static_cast<std::uint64_t>(::getpid()),
                           .rank = facts_.rank,
                           .world_size = facts_.world_size,
                           .time_origin = codes::kEpoch,
                           .driver = facts_.driver,
                           .toolkit = facts_.toolkit,
                           .framework = facts_.framework},
           sink_);
  sink_.Write(chunk.Seal(), chunk.num_records());
}

void Recorder::CountOwnLosses() {
  const std::string why = sink_.why_stopped();
  if (sink_.num_dropped() > 0) {
    Count(codes::kRecordsDropped, why.empty() ? "after the end" : why, sink_.num_dropped());
  }
  if (const std::uint64_t count = buffers_.num_too_large(); count > 0) {
    Count(codes::kRecordsDropped, "too large", count);
  }
  if (const std::uint64_t count = objects_.num_unmatched(); count > 0) {
    Count(codes::kOtherCoverage, "free of memory that was allocated before the recording", count);
  }
}

void Recorder::WriteSums() {
  const std::lock_guard lock(mutex_);
  stream::ChunkBuilder calibration(stream::ChunkType::kCalibration);
  for (const auto& [key, cost] : costs_) {
    AppendTo(calibration,
             stream::Overhead{.phase = key.first,
                              .total_ns = cost.total_ns,
                              .count = cost.count,
                              .bytes = cost.bytes,
                              .device = key.second},
             sink_);
  }
  if (!calibration.empty()) {
    sink_.Write(calibration.Seal(), calibration.num_records());
  }
  stream::ChunkBuilder coverage(stream::ChunkType::kCoverage);
  for (const auto& [key, count] : counts_) {
    AppendTo(coverage,
             stream::CoverageCount{.kind = std::get<0>(key),
                                   .name = std::get<1>(key),
                                   .count = count,
                                   .device = std::get<2>(key)},
             sink_);
  }
  AppendTo(coverage, stream::CoverageCount{.kind = codes::kRecordingEnded, .count = 1}, sink_);
  sink_.Write(coverage.Seal(), coverage.num_records());
}

}  // namespace orrery::capture
