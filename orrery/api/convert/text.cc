#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "orrery/api/convert.h"
#include "orrery/base/text/visible_text.h"
#include "orrery/draw/format.h"

namespace orrery::api {
namespace {

std::string StreamText(const ConvertResult& result) {
  std::string text;
  for (const ConvertLoss& loss : result.losses) {
    text += fmt::format("lost: {} {}\n", draw::FormatCount(loss.count), loss.what);
  }
  return text + fmt::format("{} chunks, {} instead of {}\n",
                            draw::FormatCount(result.stream->chunks),
                            draw::FormatBytes({result.stream->bytes_after}),
                            draw::FormatBytes({result.stream->bytes_before}));
}

std::string TableText(const PackedTable& table) {
  return fmt::format("{} lines, {} instead of {}\n", draw::FormatCount(table.lines),
                     draw::FormatBytes({table.bytes_after}),
                     draw::FormatBytes({table.bytes_before}));
}

std::string ClocksText(const ConvertResult& result) {
  std::string text;
  if (result.matched_collectives && result.ranks > 1) {
    text += fmt::format("{} collective{} matched over the ranks\n",
                        draw::FormatCount(*result.matched_collectives),
                        *result.matched_collectives == 1 ? "" : "s");
  }
  if (result.aligned) {
    text +=
        "clocks of the ranks aligned by the ends of their collectives (--align off leaves them)\n";
  }
  return text;
}

std::string LeftOutText(const ConvertLeftOut& left_out) {
  std::string text;
  if (left_out.graph_nodes > 0) {
    text += fmt::format(
        "left out, they have no times: {} nodes of execution traces (.orr keeps them)\n",
        draw::FormatCount(left_out.graph_nodes));
  }
  if (left_out.memory_objects + left_out.touches + left_out.accesses > 0) {
    text += fmt::format(
        "left out, viewers cannot show them: {} memory objects, {} touches and runs "
        "of pages, {} accesses (.orr keeps them)\n",
        draw::FormatCount(left_out.memory_objects), draw::FormatCount(left_out.touches),
        draw::FormatCount(left_out.accesses));
  }
  if (left_out.foreign_objects > 0) {
    text += fmt::format("left out, not the allocator's: {} memory objects\n",
                        draw::FormatCount(left_out.foreign_objects));
  }
  if (left_out.misplaced_tensors > 0) {
    text += fmt::format("left out of the final state, they overlap others: {} tensors\n",
                        draw::FormatCount(left_out.misplaced_tensors));
  }
  return text;
}

}  // namespace

std::string ConvertText(const ConvertResult& result) {
  if (result.stream) {
    return StreamText(result);
  }
  if (result.table) {
    return TableText(*result.table);
  }
  std::string text = ClocksText(result) + LeftOutText(result.left_out);
  for (const ConvertLoss& loss : result.losses) {
    text += fmt::format("lost: {} ({} times; first: {})\n", loss.what,
                        draw::FormatCount(loss.count), VisibleText(loss.first));
  }
  return text + fmt::format("{} rank{} converted\n", result.ranks, result.ranks == 1 ? "" : "s");
}

}  // namespace orrery::api
