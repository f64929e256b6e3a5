#include "orrery/ingest/kineto/event_tokens.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "orrery/ingest/kineto/name_table.h"

namespace orrery::ingest::kineto {
namespace {

using Spelling = std::pair<std::string_view, ArgKey>;

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

}  // namespace orrery::ingest::kineto
