#include "orrery/ingest/kineto/event_tokens.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace orrery::ingest::kineto {
namespace {

using Spelling = std::pair<std::string_view, ArgKey>;

/// A fixed set of names and what they mean, sorted at compile time by length: names of one length
/// are few, so a look-up is one or two comparisons.
template <typename Meaning, std::size_t N>
class NameTable {
 public:
  using Entry = std::pair<std::string_view, Meaning>;

  constexpr explicit NameTable(const std::array<Entry, N>& entries) : sorted_(entries) {
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Entry& a, const Entry& b) { return a.first.size() < b.first.size(); });
    std::size_t next = 0;
    for (std::size_t length = 0; length < begin_.size(); ++length) {
      while (next < N && sorted_[next].first.size() < length) {
        ++next;
      }
      begin_[length] = static_cast<std::uint8_t>(next);
    }
  }

  [[nodiscard]] constexpr Meaning Find(std::string_view name, Meaning otherwise) const {
    if (name.size() > kLongest) {
      return otherwise;
    }
    for (std::size_t i = begin_[name.size()]; i < begin_[name.size() + 1]; ++i) {
      if (sorted_[i].first == name) {
        return sorted_[i].second;
      }
    }
    return otherwise;
  }

 private:
  static constexpr std::size_t kLongest = 40;
  static_assert(N < 256);

  std::array<Entry, N> sorted_;
  std::array<std::uint8_t, kLongest + 2> begin_{};
};

// The current spelling first, then those of older files.
constexpr auto kSpellings = std::to_array<Spelling>({
    Spelling{"External id", ArgKey::kExternalId},
    Spelling{"external id", ArgKey::kExternalId},
    Spelling{"Record function id", ArgKey::kRecordFunctionId},
    Spelling{"Ev Idx", ArgKey::kEventIndex},
    Spelling{"Sequence number", ArgKey::kSequenceNumber},
    Spelling{"Fwd thread id", ArgKey::kForwardThread},
    Spelling{"Input Dims", ArgKey::kInputDims},
    Spelling{"Input dims", ArgKey::kInputDims},
    Spelling{"Input type", ArgKey::kInputType},
    Spelling{"Input Strides", ArgKey::kInputStrides},
    Spelling{"Concrete Inputs", ArgKey::kConcreteInputs},
    Spelling{"Call stack", ArgKey::kCallStack},
    Spelling{"Module Hierarchy", ArgKey::kModuleHierarchy},
    Spelling{"Python id", ArgKey::kPythonId},
    Spelling{"Python parent id", ArgKey::kPythonParentId},
    Spelling{"Python module id", ArgKey::kPythonModuleId},
    Spelling{"cbid", ArgKey::kCallbackId},
    Spelling{"cid", ArgKey::kCallbackId},
    Spelling{"correlation", ArgKey::kCorrelation},
    Spelling{"device", ArgKey::kDevice},
    Spelling{"inDevice", ArgKey::kInDevice},
    Spelling{"stream", ArgKey::kStream},
    Spelling{"registers per thread", ArgKey::kRegisters},
    Spelling{"shared memory", ArgKey::kSharedMemory},
    Spelling{"grid", ArgKey::kGrid},
    Spelling{"block", ArgKey::kBlock},
    Spelling{"est. achieved occupancy %", ArgKey::kOccupancy},
    Spelling{"bytes", ArgKey::kBytes},
    Spelling{"graph node id", ArgKey::kGraphNode},
    Spelling{"memory bandwidth (GB/s)", ArgKey::kBandwidth},
    Spelling{"wait_on_stream", ArgKey::kWaitOnStream},
    Spelling{"wait_on_cuda_event_record_corr_id", ArgKey::kRecordCorrelation},
    Spelling{"wait_on_cuda_event_id", ArgKey::kWaitOnEvent},
    Spelling{"event_id", ArgKey::kEventId},
    Spelling{"Device Type", ArgKey::kDeviceType},
    Spelling{"Device Id", ArgKey::kDeviceId},
    Spelling{"Addr", ArgKey::kAddress},
    Spelling{"Bytes", ArgKey::kMemoryBytes},
    Spelling{"Total Allocated", ArgKey::kTotalAllocated},
    Spelling{"Total Reserved", ArgKey::kTotalReserved},
    Spelling{"Collective name", ArgKey::kCollectiveName},
    Spelling{"dtype", ArgKey::kDataType},
    Spelling{"In msg nelems", ArgKey::kInElements},
    Spelling{"Out msg nelems", ArgKey::kOutElements},
    Spelling{"In split size", ArgKey::kInSplits},
    Spelling{"Out split size", ArgKey::kOutSplits},
    Spelling{"Global rank start", ArgKey::kRankStart},
    Spelling{"Global rank stride", ArgKey::kRankStride},
    Spelling{"Group size", ArgKey::kGroupSize},
    Spelling{"Process Group Name", ArgKey::kGroupName},
    Spelling{"Process Group Description", ArgKey::kGroupDescription},
    Spelling{"Process Group Ranks", ArgKey::kGroupRanks},
    Spelling{"Rank", ArgKey::kRank},
    Spelling{"Dst Rank", ArgKey::kDestinationRank},
    Spelling{"Src Rank", ArgKey::kSourceRank},
    Spelling{"Seq", ArgKey::kGroupSequence},
    Spelling{"Comms Id", ArgKey::kCommsId},
    Spelling{"Is asynchronized op", ArgKey::kIsAsync},
    Spelling{"name", ArgKey::kMetadataName},
    Spelling{"labels", ArgKey::kMetadataLabels},
    Spelling{"sort_index", ArgKey::kMetadataSortIndex},
});

constexpr NameTable<ArgKey, kSpellings.size()> kArgKeys(kSpellings);

using enum Category;

using Entry = std::pair<std::string_view, Category>;

constexpr auto kNames = std::to_array<Entry>({
    {"cpu_op", kHostOp},
    {"Operator", kHostOp},
    {"user_annotation", kHostAnnotation},
    {"gpu_user_annotation", kDeviceAnnotation},
    {"kernel", kKernel},
    {"Kernel", kKernel},
    {"gpu_memcpy", kCopy},
    {"Memcpy", kCopy},
    {"gpu_memset", kSet},
    {"Memset", kSet},
    {"mtia_ccp_events", kOtherDeviceWork},
    {"hpu_op", kOtherDeviceWork},
    {"collective_comm", kOtherDeviceWork},
    {"cuda_runtime", kRuntime},
    {"Runtime", kRuntime},
    {"cuda_driver", kDriver},
    {"mtia_runtime", kOtherApi},
    {"xpu_runtime", kOtherApi},
    {"xpu_driver", kOtherApi},
    {"glow_runtime", kOtherApi},
    {"privateuse1_runtime", kOtherApi},
    {"privateuse1_driver", kOtherApi},
    {"cuda_sync", kSync},
    {"xpu_sync", kSync},
    {"cuda_event", kEventRecord},
    {"python_function", kPython},
    {"Python", kPython},
    {"cpu_instant_event", kMemory},
    {"ac2g", kLaunchFlow},
    {"async", kLaunchFlow},
    {"async_gpu", kLaunchFlow},
    {"async_cpu_to_gpu", kLaunchFlow},
    {"fwdbwd", kForwardBackwardFlow},
});

constexpr NameTable<Category, kNames.size()> kCategories(kNames);

}  // namespace

ArgKey FindArgKey(std::string_view name) {
  return kArgKeys.Find(name, ArgKey::kNone);
}

std::string_view ArgKeyName(ArgKey key) {
  const auto found = std::find_if(kSpellings.begin(), kSpellings.end(),
                                  [&](const Spelling& spelling) { return spelling.second == key; });
  return found == kSpellings.end() ? std::string_view() : found->first;
}

void EventTokens::AddExtra(std::string_view quoted_key, std::string_view value) {
  if (!extra.empty()) {
    extra += ", ";
  }
  extra += quoted_key;
  extra += ": ";
  extra += value;
}

void EventTokens::Clear() {
  phase = category = name = process = thread = time = duration = id = {};
  args_are_not_an_object = false;
  present = 0;
  extra.clear();
}

Category FindCategory(std::string_view name) {
  return kCategories.Find(name, kOther);
}

bool IsCategoryOf2021(std::string_view name) {
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z' &&
         kCategories.Find(name, kOther) != kOther;
}

}  // namespace orrery::ingest::kineto
