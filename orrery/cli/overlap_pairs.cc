#include "orrery/cli/overlap_pairs.h"

#include <fmt/core.h>

#include "orrery/cli/command.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {

Result<overlap::PairTable> ReadOverlapPairs(std::span<const std::string> paths,
                                            std::span<const std::string> counters) {
  ORRERY_TRY(overlap::PairTable data, overlap::ReadPairs(paths, counters));
  if (data.rows.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "no row of the data can be used\n" + RejectedText(data.files, data.rejected));
  }
  return data;
}

int NoticeRejectedPairs(const overlap::PairTable& data) {
  if (data.rejected.empty()) {
    return kExitOk;
  }
  PrintNotice(fmt::format("{} rows were not used:\n{}", data.rejected.size(),
                          RejectedText(data.files, data.rejected)));
  return kExitPartial;
}

}  // namespace orrery::cli
