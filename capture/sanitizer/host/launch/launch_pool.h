#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "capture/sanitizer/host/overheads.h"
#include "capture/sanitizer/host/launch/pending_launches.h"
#include "capture/sanitizer/host/vendor.h"

namespace orrery::capture::sanitizer {

/// Hands out places in memory of a fixed size, going round, so that places taken one after the
/// other lie side by side and can be read back together. Knows offsets only; not safe from several
/// threads.
class Arena {
 public:
  static constexpr std::uint64_t kAlignment = 256;

  explicit Arena(std::uint64_t bytes) : free_bytes_(bytes) {
    if (bytes != 0) {
      free_.emplace(0, bytes);
    }
  }

  /// Returns the size that `Take` reserves for `bytes`.
  [[nodiscard]] static std::uint64_t Rounded(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// An offset, a multiple of kAlignment; nothing if no gap is long enough.
  [[nodiscard]] std::optional<std::uint64_t> Take(std::uint64_t bytes);

  /// Gives back what was taken; also a piece of it, or neighbours together.
  void GiveBack(std::uint64_t offset, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t free_bytes() const { return free_bytes_; }

 private:
  using Gaps = std::map<std::uint64_t, std::uint64_t>;

  std::uint64_t TakeFrom(Gaps::iterator gap, std::uint64_t bytes);

  std::uint64_t free_bytes_;
  std::uint64_t next_ = 0;
  Gaps free_;  // begin → bytes, no two side by side
};

/// The launches in flight in one context. Each has a block of its own, or a part in that of another
/// (merged launches, nodes of graphs), in one piece of device memory, mirrored in pinned memory of
/// the host: there the block is prepared, and there it is read back, at the same offset.
///
/// Copies go onto the launch's own stream. So a block is written before its kernel runs, and read
/// after, whatever other streams do, and nothing waits until somebody reads. Device memory that is
/// not in use is zero.
///
/// No lock of ours is held during a call of the vendor: its callbacks take our locks.
class LaunchPool {
 public:
  LaunchPool(VendorCalls& calls, ContextHandle context, std::uint64_t arena_bytes,
             Overheads& overheads);

  /// Takes the memory; until then, and if that fails, Begin finds no room.
  [[nodiscard]] CallResult Open(StreamHandle stream);

  /// Gives the launch a block and sends it off. Returns the record's address on the device, and the
  /// launch is in flight; nothing if there is no room or the device does not answer.
  [[nodiscard]] std::optional<std::uint64_t> Begin(PendingLaunch launch, AccessRing* ring);

  /// A launch that counts with another.
  struct Joined {
    std::uint64_t record = 0;        // its address on the device
    std::uint64_t into = 0;          // number of the launch that has the block
    std::int64_t inclusion_ppb = 0;  // of that launch
    std::uint64_t function = 0;      // of that launch
  };

  /// For where there is no room: lets the launch count in the block of the latest launch of the
  /// same function that is in the same stream and not yet read, if both see the same memory and the
  /// same blocks. What both did can then only be told together. Not for nodes of graphs.
  [[nodiscard]] std::optional<Joined> Merge(const PendingLaunch& launch);

  /// Lets a node count in the block of the nodes that are in the same stream and not yet read,
  /// whatever their graphs, their functions and the memory they see: there is one pointer for all
  /// of them. Nothing if there is none.
  [[nodiscard]] std::optional<Joined> JoinNodes(const PendingLaunch& node);

  /// Nodes run in the stream: those in other streams are not known to be alone.
  void MixNodes(StreamHandle stream);

  /// The launch is in its stream. False if it did not begin here.
  bool End(LaunchHandle handle);

  /// The graph is in its stream, with its nodes.
  void EndGraph(std::uint64_t graph);

  /// The launch will not run, or not with our record: forgets it.
  void Cancel(std::uint64_t number);

  /// Takes out the launches that are in a stream, or in any (no stream given).
  [[nodiscard]] std::vector<PendingLaunch> TakeEnded(std::optional<StreamHandle> stream);

  /// Fetches the blocks of such launches, neighbours in one copy, and sorts them by stream and
  /// place. This waits for their streams, which costs nothing where those were just waited for.
  /// What cannot be read any more is lost, and the pool is broken.
  void ReadBack(std::vector<PendingLaunch>& launches);

  /// The results of a launch that was read back.
  [[nodiscard]] BlockResults Results(const PendingLaunch& launch) const {
    return ResultsIn(launch, mirror_ + launch.offset);
  }

  /// Clears the blocks of launches that were read back, for the next. One that nodes in other
  /// streams may still count in is kept until those are read.
  void Release(std::vector<PendingLaunch> launches);

  /// Returns true if a block of so many bytes could ever fit.
  [[nodiscard]] bool CanHold(std::uint64_t bytes) const {
    return !is_broken_ && Arena::Rounded(bytes) <= arena_bytes_;
  }

  [[nodiscard]] bool is_broken() const { return is_broken_; }

  /// Returns true if it is better to wait before a graph is launched into the stream: more than
  /// half of the memory is taken, or very many nodes are counted together.
  [[nodiscard]] bool WantsWait(StreamHandle stream);

  /// Gives the memory back; nothing is in flight any more.
  void Close();

 private:
  /// Neighbouring blocks of launches on one stream.
  struct Run {
    StreamHandle stream;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::size_t num_launches = 0;
  };

  using Launches = std::vector<PendingLaunch>;

  [[nodiscard]] std::optional<Joined> JoinedTo(const PendingLaunch* receiver) const;
  void KeepMixed(Launches& launches);
  [[nodiscard]] static std::vector<Run> RunsOf(const std::vector<PendingLaunch>& sorted);
  [[nodiscard]] std::optional<std::uint64_t> TakeBlock(PendingLaunch& launch);
  [[nodiscard]] bool Send(const PendingLaunch& launch, AccessRing* ring);
  [[nodiscard]] bool Fetch(const Run& run);
  [[nodiscard]] bool Clear(const Run& run);

  VendorCalls& calls_;
  ContextHandle context_;
  std::uint64_t arena_bytes_;
  Overheads& overheads_;
  std::uint64_t device_memory_ = 0;
  std::byte* mirror_ = nullptr;
  std::atomic<bool> is_broken_{true};
  std::mutex mutex_;  // guards all below
  Arena arena_{0};
  PendingLaunches pending_;
  Launches kept_;  // read, and nodes in other streams may still count in their blocks
};

}  // namespace orrery::capture::sanitizer
