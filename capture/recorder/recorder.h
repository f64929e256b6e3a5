#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capture/recorder/buffer_pool.h"
#include "capture/recorder/clock.h"
#include "capture/recorder/numbering.h"
#include "capture/recorder/settings.h"
#include "orrery/stream/codes.h"
#include "orrery/stream/schema.h"

namespace orrery::capture {

/// The launches to record in detail while the selection is open.
struct DetailSelection {
  std::uint64_t id = 0;
  std::string_view kernels;    // part of the kernel's name; empty: any
  std::uint64_t launches = 0;  // at most; 0: all
};

/// Hears of what the recorder is told, on the thread that told it, after it was recorded and with
/// no lock held.
class RecorderListener {
 public:
  virtual ~RecorderListener() = default;

  virtual void OnAllocated(const stream::Allocation& /*allocation*/) {}

  /// `object` is 0 where the memory is not known. Phase 1 (requested) does not end it.
  virtual void OnFreed(const stream::Free& /*free*/) {}

  /// Frames of Python that the thread is in, the innermost first; none: not known any more.
  virtual void OnPythonStack(std::span<const std::string_view> /*frames*/) {}

  virtual void OnDetailBegin(const DetailSelection& /*selection*/) {}

  virtual void OnDetailEnd(std::uint64_t /*id*/) {}

  /// Only these parts are to be collected (recorder_api.h).
  virtual void OnCollect(std::uint64_t /*parts*/) {}

  /// Everything is to be on disk soon: what the listener still holds, it hands to the recorder now.
  virtual void OnFlush() {}
};

/// The fields of a stream's header that describe the machine; set by the recorder's owner before
/// the first chunk is written.
struct MachineFacts {
  std::string driver = {};
  std::string toolkit = {};
  std::string framework = {};
  std::int64_t rank = -1;
  std::int64_t world_size = -1;
};

/// Records the events of one process into one stream. Any thread calls anything at any time;
/// nothing throws to the caller, nothing waits for the disk but the thread whose chunk is full, and
/// nothing ends the process.
class Recorder {
 public:
  Recorder(RecorderSettings settings, const Clock& clock);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Returns true if a file could be opened. Without one every call is harmless.
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }

  [[nodiscard]] std::int64_t now_ns() const noexcept { return clock_.now_ns(); }

  /// One listener, set before events come in.
  void SetListener(RecorderListener* listener) noexcept { listener_ = listener; }

  // Events.

  /// Records what happens now, on this thread; returns its number.
  template <typename Event>
  std::uint64_t Record(Event event) {
    Stamp(event);
    if constexpr (std::is_constructible_v<DeferredEvent, Event>) {
      if (Defers(event)) {
        return event.sequence;
      }
    }
    Write(event);
    return event.sequence;
  }

  /// From now on events of the target's threads are only put aside, and written by whoever calls
  /// WriteOut; to be called by who does so several times a second.
  void SetDeferring(bool is_deferring) {
    if (is_deferring) {
      buffers_.MakeReady();
    }
    is_deferring_ = is_deferring;
  }

  /// Records an event whose number, time and thread are filled in already, or a record without
  /// these fields.
  template <typename AnyRecord>
  void Write(const AnyRecord& record) {
    if (sink_.Wants()) {
      buffers_.Mine().Append(record);
    }
  }

  /// Fills in number, time and thread.
  template <typename Event>
  void Stamp(Event& event) {
    event.time_ns = now_ns();
    event.sequence = numbering_.Next(event.time_ns);
    event.thread = ThreadNumber();
  }

  /// The number of the k-th event of a call that was begun at `host_ns` and is told of only now.
  [[nodiscard]] std::uint64_t LateNumber(std::int64_t host_ns, std::uint64_t correlation,
                                         std::uint64_t k = 0) noexcept {
    return numbering_.Late(host_ns, correlation, k);
  }

  /// That of the call itself.
  [[nodiscard]] std::uint64_t LateCallNumber(std::int64_t host_ns,
                                             std::uint64_t correlation) noexcept {
    return numbering_.LateCall(host_ns, correlation);
  }

  // Memory. An object is numbered when it is allocated and found by its address when it is freed.

  /// Happens now; returns the object's number, 0 where that is left to the thread that writes.
  std::uint64_t Allocated(stream::Allocation allocation);
  void Freed(stream::Free free);

  /// Records an event that is reported later: number, time and thread are filled in.
  std::uint64_t AllocatedLate(stream::Allocation allocation);
  void FreedLate(stream::Free free);

  /// Memory that was there before; `object.id` is filled in and returned. It is found by its
  /// address when it is freed.
  std::uint64_t Existing(stream::Object object, std::uint64_t level);

  // Names.

  [[nodiscard]] std::uint64_t Text(std::string_view text);
  [[nodiscard]] std::uint64_t Stack(std::uint64_t language,
                                    std::span<const std::string_view> frames);
  /// A kernel by what the vendor calls it; it is written as people read it.
  [[nodiscard]] std::uint64_t Function(std::string_view name, std::uint64_t module = 0,
                                       std::uint64_t bytes = 0, bool has_tensor_maps = false);
  [[nodiscard]] std::uint64_t Module(std::uint64_t context, std::uint64_t handle,
                                     std::string_view hash, std::string_view name,
                                     std::uint64_t bytes);

  void ForgetModule(std::uint64_t context, std::uint64_t handle) {
    names_.ForgetModule(context, handle);
  }

  // Events of frameworks.

  std::uint64_t OperatorBegin(std::string_view name, std::int64_t sequence, std::uint64_t scope,
                              std::uint64_t forward_thread);

  void OperatorEnd(std::uint64_t begin) { Record(stream::OperatorEnd{.begin = begin}); }

  std::uint64_t RegionBegin(std::string_view name) {
    return Record(stream::RegionBegin{.name = Text(name)});
  }

  void RegionEnd(std::uint64_t begin) { Record(stream::RegionEnd{.begin = begin}); }

  void Step(std::uint64_t number) { Record(stream::Step{.number = number}); }

  /// Passes the thread's Python frames to listeners that record stacks.
  void PythonStack(std::span<const std::string_view> frames) {
    Tell([&](RecorderListener& listener) { listener.OnPythonStack(frames); });
  }

  std::uint64_t DetailBegin(std::string_view kernels, std::uint64_t launches);

  void DetailEnd(std::uint64_t id) {
    Tell([&](RecorderListener& listener) { listener.OnDetailEnd(id); });
  }

  void Collect(std::uint64_t parts) {
    Count(stream::codes::kOtherCoverage, "the program switched parts of its recording");
    Tell([&](RecorderListener& listener) { listener.OnCollect(parts); });
  }

  // Records about the stream itself.

  /// Adds to the machine's fields in the header; call it before the first chunk is written.
  void SetFacts(const MachineFacts& facts);

  void Setting(std::string_view key, std::string_view value) {
    Write(stream::Setting{.key = key, .value = value});
  }

  /// Adds to a count of coverage or loss; the sums are written at the end.
  void Count(std::uint64_t kind, std::string_view name, std::uint64_t count = 1,
             std::int64_t device = -1);
  /// Adds to what the recording cost; the sums are written at the end.
  void AddOverhead(std::uint64_t phase, std::int64_t time_ns, std::uint64_t bytes = 0,
                   std::int64_t device = -1);

  /// Writes out what is complete so far; the listener hands in what it holds first.
  void Flush();

  /// Writes out everything recorded so far, without the listener.
  void WriteOut();

  /// Writes everything out, the sums and the end mark. Whatever comes later is ignored. Returns at
  /// once the second time.
  void Finish();

  /// In the child of a fork: the recording is the parent's.
  void Abandon() noexcept;

  [[nodiscard]] ChunkSink& sink() noexcept { return sink_; }

 private:
  static constexpr std::size_t kMostDeferred = 4 << 20;  // words of a thread, 32 MB

  struct Cost {
    std::uint64_t total_ns = 0;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };

  template <typename Function>
  void Tell(Function&& function) {
    if (RecorderListener* const listener = listener_.load(std::memory_order_acquire)) {
      function(*listener);
    }
  }

  /// Returns true if the event was deferred.
  template <typename Event>
  [[nodiscard]] bool Defers(const Event& event) {
    if (!is_deferring_.load(std::memory_order_relaxed) || !sink_.Wants()) {
      return false;
    }
    if (buffers_.Mine().Defer(event) >= kMostDeferred) [[unlikely]] {
      WriteDeferred();
    }
    return true;
  }

  void WriteDeferred();
  void WriteHeader();
  void WriteSums();
  void CountOwnLosses();

  RecorderSettings settings_;
  const Clock& clock_;
  Numbering numbering_;
  ChunkSink sink_;
  BufferPool buffers_;
  Names names_;
  ObjectNumbers objects_;
  std::atomic<RecorderListener*> listener_{nullptr};
  std::atomic<std::uint64_t> last_detail_{0};
  std::atomic<bool> is_finished_{false};
  std::atomic<bool> is_deferring_{false};
  bool is_open_ = false;
  std::mutex writing_deferred_;          // guards deferred_
  std::vector<DeferredEvent> deferred_;  // taken from the threads, not written
  std::mutex mutex_;                     // guards what follows
  MachineFacts facts_;
  bool has_header_ = false;
  std::map<std::tuple<std::uint64_t, std::string, std::int64_t>, std::uint64_t> counts_;
  std::map<std::pair<std::uint64_t, std::int64_t>, Cost> costs_;
};

}  // namespace orrery::capture
