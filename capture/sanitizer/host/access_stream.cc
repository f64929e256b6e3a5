#include "capture/sanitizer/host/access_stream.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;

constexpr std::uint64_t kTailBytes = 256;
constexpr std::uint64_t kMaxSpins = 1 << 16;
// A cell that is taken is written within a few instructions: this is more than enough.
constexpr int kMaxLooks = 200;
constexpr int kAccessesAtOnce = 4096;
constexpr std::chrono::microseconds kRest{50};
constexpr std::uint32_t kPcMask = 0xffff;
constexpr std::uint64_t kPcUnit = 16;

AccessRing RingIn(std::byte* memory, std::uint64_t ring_bytes) {
  AccessRing ring{};
  ring.cells = reinterpret_cast<AccessCell*>(memory);
  ring.tail = reinterpret_cast<volatile std::uint64_t*>(memory + ring_bytes);
  ring.num_cells = ring_bytes / sizeof(AccessCell);
  ring.max_spins = kMaxSpins;
  ring.margin = std::min(kRingMargin, ring.num_cells / 4);
  return ring;
}

std::uint64_t FlagsOf(std::uint32_t flags) {
  const bool is_atomic = (flags & kReadFlag) != 0 && (flags & kWriteFlag) != 0;
  const std::uint64_t kinds = flags & (kReadFlag | kWriteFlag);
  return is_atomic ? kinds | codes::kAtomic : kinds;
}

std::uint64_t PcIn(std::uint64_t function_pc, const StreamedAccess& access) {
  const auto begin = static_cast<std::uint32_t>(function_pc / kPcUnit);
  return ((access.pc - begin) & kPcMask) * kPcUnit;
}

std::uint64_t ZigZag(std::uint64_t difference) {
  const auto number = static_cast<std::int64_t>(difference);
  return (difference << 1U) ^ static_cast<std::uint64_t>(number >> 63U);
}

// Of the active lanes, from the first one's address.
std::vector<std::uint64_t> OffsetsOf(const StreamedAccess& access, std::uint64_t first) {
  std::vector<std::uint64_t> offsets;
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    if ((access.active >> lane & 1U) != 0) {
      offsets.push_back(ZigZag(access.addresses[lane] - first));
    }
  }
  return offsets;
}

RangeTable TableOf(const PendingLaunch& launch) {
  const ObjectSnapshot& objects = *launch.objects;
  RangeTable table;
  table.ranges = objects.ranges;
  table.page_shift = objects.page_shift;
  if (launch.wants_pages) {
    table.first_page_bit = objects.first_page_bit;
    table.num_page_bits = objects.num_page_bits;
  }
  return table;
}

}  // namespace

void WriteAccess(Recorder& recorder, std::uint64_t launch, std::optional<std::uint64_t> function_pc,
                 const StreamedAccess& access) {
  stream::WarpAccess row{.launch = launch,
                         .address = access.address,
                         .pc = function_pc ? PcIn(*function_pc, access) : 0,
                         .block = access.block,
                         .warp = access.warp,
                         .access_bytes = access.bytes,
                         .flags = FlagsOf(access.flags),
                         .form = codes::kAffine,
                         .stride = access.stride,
                         .inactive_lanes = ~access.active};
  std::vector<std::uint64_t> offsets;
  if ((access.flags & kBulkFlag) != 0) {
    row.access_bytes = std::uint64_t{access.bytes} * static_cast<std::uint32_t>(access.stride);
    row.form = codes::kBroadcast;
    row.stride = 0;
  } else if (access.stride == kGeneralStride) {
    row.form = codes::kGeneral;
    row.stride = 0;
    offsets = OffsetsOf(access, access.address);
    row.offsets = offsets;
  } else if (access.stride == 0) {
    row.form = codes::kBroadcast;
  }
  recorder.Write(row);
}

AccessStream::AccessStream(VendorCalls& calls, Recorder& recorder, ContextHandle context,
                           std::uint64_t ring_bytes, Overheads& overheads)
    : calls_(calls),
      recorder_(recorder),
      context_(context),
      ring_bytes_(ring_bytes),
      overheads_(overheads) {}

AccessStream::~AccessStream() {
  Stop();
}

void AccessStream::Stop() {
  is_ending_ = true;
  if (worker_.joinable()) {
    worker_.join();
  }
}

CallResult AccessStream::Open(StreamHandle stream) {
  void* memory = nullptr;
  const std::uint64_t bytes = ring_bytes_ + kTailBytes + sizeof(AccessRing);
  CallResult result = calls_.AllocateHost(context_, bytes, &memory);
  if (result != 0) {
    return result;
  }
  host_memory_ = static_cast<std::byte*>(memory);
  std::memset(host_memory_, 0, bytes);
  host_ring_ = RingIn(host_memory_, ring_bytes_);
  reader_ = std::make_unique<RingReader>(host_ring_);
  result = calls_.Allocate(context_, sizeof(AccessRing), &device_ring_);
  if (result != 0) {
    return result;
  }
  std::byte* const staging = host_memory_ + ring_bytes_ + kTailBytes;
  std::memcpy(staging, &host_ring_, sizeof(host_ring_));
  result = calls_.CopyToDevice(device_ring_, staging, sizeof(AccessRing), stream);
  if (result == 0) {
    result = calls_.Synchronize(stream);  // launches of other streams use it too
  }
  is_open_ = result == 0;
  if (is_open_) {
    worker_ = std::thread([this] { Work(is_ending_); });
  }
  return result;
}

AccessRing* AccessStream::ring() const {
  return reinterpret_cast<AccessRing*>(device_ring_);  // NOLINT(performance-no-int-to-ptr)
}

void AccessStream::Expect(const PendingLaunch& launch, bool with_attribution) {
  Expected expected;
  expected.number = launch.number;
  expected.function_pc = launch.function_pc;
  expected.is_recorded = launch.choice.with_access_records;
  if (with_attribution) {
    expected.attribution = std::make_unique<Attribution>(TableOf(launch));
  }
  const std::lock_guard lock(mutex_);
  expected_[static_cast<std::uint32_t>(launch.number)] = std::move(expected);
}

void AccessStream::Forget(const PendingLaunch& launch) {
  const std::lock_guard lock(mutex_);
  expected_.erase(static_cast<std::uint32_t>(launch.number));
}

void AccessStream::ForgetFunction(std::uint64_t launch) {
  const std::lock_guard lock(mutex_);
  const auto found = expected_.find(static_cast<std::uint32_t>(launch));
  if (found != expected_.end()) {
    found->second.function_pc.reset();
  }
}

void AccessStream::Work(const std::atomic<bool>& is_ending) {
  while (!is_ending) {
    if (!TakeSome()) {
      std::this_thread::sleep_for(kRest);
    }
  }
}

// Returns whether there was anything. Lets others at the lock between pieces.
bool AccessStream::TakeSome() {
  const std::lock_guard lock(mutex_);
  StreamedAccess access;
  if (!reader_->Next(access)) {
    return false;
  }
  const Overheads::Scope scope(overheads_, codes::kAnalysis);
  int num_taken = 0;
  do {
    Take(access);
  } while (++num_taken < kAccessesAtOnce && reader_->Next(access));
  return true;
}

void AccessStream::Take(const StreamedAccess& access) {
  const auto found = expected_.find(access.launch);
  if (found == expected_.end()) {
    ++num_strangers_;
    return;
  }
  if (found->second.attribution != nullptr) {
    found->second.attribution->Add(access);
  }
  if (found->second.is_recorded) {
    WriteAccess(recorder_, found->second.number, found->second.function_pc, access);
  }
}

std::uint64_t AccessStream::Finish(StreamHandle stream) {
  const std::lock_guard finishing(finishing_);
  if (!is_open_ || !ReadHead(stream)) {
    return 1;
  }
  AccessRing device{};
  std::memcpy(&device, host_memory_ + ring_bytes_ + kTailBytes, sizeof(device));
  const bool is_complete = TakeUntil(device.head);
  const std::lock_guard lock(mutex_);
  const std::uint64_t dropped_before = std::exchange(num_dropped_, device.dropped);
  return device.dropped - dropped_before + std::exchange(num_strangers_, 0) + (is_complete ? 0 : 1);
}

// Launches before it in the stream are done, so the head covers all they wrote.
bool AccessStream::ReadHead(StreamHandle stream) {
  const Overheads::Scope scope(overheads_, codes::kTransfer, sizeof(AccessRing));
  return calls_.CopyToHost(host_memory_ + ring_bytes_ + kTailBytes, device_ring_,
                           sizeof(AccessRing), stream) == 0;
}

bool AccessStream::TakeUntil(std::uint64_t head) {
  for (int looks = 0; looks < kMaxLooks;) {
    {
      const std::lock_guard lock(mutex_);
      if (reader_->position() >= head) {
        return true;
      }
    }
    if (!TakeSome()) {
      ++looks;
      std::this_thread::yield();
    }
  }
  return false;
}

BlockResults AccessStream::Results(const PendingLaunch& launch) {
  const std::lock_guard lock(mutex_);
  const auto found = expected_.find(static_cast<std::uint32_t>(launch.number));
  if (found == expected_.end() || found->second.attribution == nullptr) {
    return {};
  }
  const Attribution& attribution = *found->second.attribution;
  return {.counters = attribution.counters(),
          .page_bits = attribution.page_bits(),
          .unknown_samples = attribution.unknown_samples()};
}

void AccessStream::Close() {
  is_open_ = false;
  Stop();
  if (host_memory_ != nullptr) {
    static_cast<void>(calls_.FreeHost(context_, std::exchange(host_memory_, nullptr)));
  }
  if (device_ring_ != 0) {
    static_cast<void>(calls_.Free(context_, std::exchange(device_ring_, 0)));
  }
}

}  // namespace orrery::capture::sanitizer
