#include "capture/sanitizer/host/left_out_nodes.h"

#include <algorithm>
#include <utility>

namespace orrery::capture::sanitizer {

void LeftOutNodes::Add(const Node& node, std::string reason) {
  const std::lock_guard lock(mutex_);
  Group& group = groups_[node.stream];
  group.reason = std::move(reason);
  Note(node, group);
}

std::string LeftOutNodes::Join(const Node& node) {
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(node.stream);
  if (found == groups_.end()) {
    return {};
  }
  Note(node, found->second);
  return found->second.reason;
}

void LeftOutNodes::Note(const Node& node, Group& group) {
  if (std::find(group.open_graphs.begin(), group.open_graphs.end(), node.graph) ==
      group.open_graphs.end()) {
    group.open_graphs.push_back(node.graph);
  }
  group.wants_wait = group.wants_wait || node.could_be_counted;
}

bool LeftOutNodes::AreElsewhere(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const auto& entry) { return entry.first != stream; });
}

bool LeftOutNodes::WantWait(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(stream);
  return found != groups_.end() && found->second.wants_wait;
}

void LeftOutNodes::EndGraph(std::uint64_t graph) {
  const std::lock_guard lock(mutex_);
  for (auto& [stream, group] : groups_) {
    std::erase(group.open_graphs, graph);
  }
}

void LeftOutNodes::OnPassed(std::optional<StreamHandle> stream) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [&](const auto& entry) {
    return entry.second.open_graphs.empty() && (!stream || entry.first == *stream);
  });
}

}  // namespace orrery::capture::sanitizer
