#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::nsys {

/// Kinds and names of copies and sets, from the export's ENUM tables where it has them and from the
/// numbers of CUPTI where not. Names are those of Kineto: "Memcpy HtoD (Pinned -> Device)".
class CopyNames {
 public:
  explicit CopyNames(ExportContext& context);

  /// The kind of a `copyKind`; unified-memory copies count as plain ones.
  [[nodiscard]] trace::CopyKind Kind(std::int64_t stored) const;

  [[nodiscard]] const std::string& CopyName(trace::CopyKind kind, std::int64_t source_memory,
                                            std::int64_t target_memory);
  [[nodiscard]] std::string SetName(std::int64_t memory) const;

 private:
  [[nodiscard]] std::string_view MemoryName(std::int64_t memory) const;

  EnumTable copies_;
  EnumTable memories_;
  std::map<std::tuple<trace::CopyKind, std::int64_t, std::int64_t>, std::string> names_;
};

}  // namespace orrery::ingest::nsys
