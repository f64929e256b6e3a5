#include "orrery/ingest/nsys/copy_names.h"

#include <array>

#include <fmt/core.h>

namespace orrery::ingest::nsys {
namespace {

using trace::CopyKind;
using enum trace::CopyKind;

struct KindWord {
  std::string_view word;   // ends the name in ENUM_CUDA_MEMCPY_OPER
  std::string_view title;  // in the name of the activity
  CopyKind kind;
};

constexpr std::array kKindWords{
    KindWord{"HTOD", "HtoD", kHostToDevice},  KindWord{"DTOH", "DtoH", kDeviceToHost},
    KindWord{"HTOA", "HtoA", kHostToArray},   KindWord{"ATOH", "AtoH", kArrayToHost},
    KindWord{"ATOA", "AtoA", kArrayToArray},  KindWord{"ATOD", "AtoD", kArrayToDevice},
    KindWord{"DTOA", "DtoA", kDeviceToArray}, KindWord{"DTOD", "DtoD", kDeviceToDevice},
    KindWord{"HTOH", "HtoH", kHostToHost},    KindWord{"PTOP", "PtoP", kPeerToPeer},
};

// CUPTI's numbers 1 to 13; the last three are copies of unified memory.
constexpr std::array kKindNumbers{kUnknown,        kHostToDevice,  kDeviceToHost,  kHostToArray,
                                  kArrayToHost,    kArrayToArray,  kArrayToDevice, kDeviceToArray,
                                  kDeviceToDevice, kHostToHost,    kPeerToPeer,    kHostToDevice,
                                  kDeviceToHost,   kDeviceToDevice};

constexpr std::array<std::string_view, 7> kMemoryNames{
    "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"};

}  // namespace

CopyNames::CopyNames(ExportContext& context)
    : copies_(context.ReadEnum("ENUM_CUDA_MEMCPY_OPER")),
      memories_(context.ReadEnum("ENUM_CUDA_MEM_KIND")) {}

CopyKind CopyNames::Kind(std::int64_t stored) const {
  if (const auto entry = copies_.find(stored); entry != copies_.end()) {
    for (const KindWord& known : kKindWords) {
      if (entry->second.name.ends_with(known.word)) {
        return known.kind;
      }
    }
  }
  const bool is_known = stored >= 0 && stored < static_cast<std::int64_t>(kKindNumbers.size());
  return is_known ? kKindNumbers[static_cast<std::size_t>(stored)] : kUnknown;
}

std::string_view CopyNames::MemoryName(std::int64_t memory) const {
  if (const auto entry = memories_.find(memory);
      entry != memories_.end() && !entry->second.label.empty()) {
    return entry->second.label;
  }
  const bool is_known = memory >= 0 && memory < static_cast<std::int64_t>(kMemoryNames.size());
  return is_known ? kMemoryNames[static_cast<std::size_t>(memory)] : "Unknown";
}

const std::string& CopyNames::CopyName(CopyKind kind, std::int64_t source_memory,
                                       std::int64_t target_memory) {
  std::string& name = names_[{kind, source_memory, target_memory}];
  if (name.empty()) {
    std::string_view title = "Unknown";
    for (const KindWord& known : kKindWords) {
      title = known.kind == kind ? known.title : title;
    }
    name = fmt::format("Memcpy {} ({} -> {})", title, MemoryName(source_memory),
                       MemoryName(target_memory));
  }
  return name;
}

std::string CopyNames::SetName(std::int64_t memory) const {
  return fmt::format("Memset ({})", MemoryName(memory));
}

}  // namespace orrery::ingest::nsys
