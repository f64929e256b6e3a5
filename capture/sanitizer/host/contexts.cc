#include "capture/sanitizer/host/contexts.h"

#include <algorithm>
#include <utility>

namespace orrery::capture::sanitizer {
namespace {

bool WantsAccesses(const Options& options) {
  return options.analysis == Analysis::kHost || !options.access_records.empty();
}

}  // namespace

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

Context::Context(Place place, VendorCalls& calls, Recorder& recorder, const Options& options,
                 Overheads& overheads)
    : place_(place), pool_(calls, place.handle, options.arena_bytes, overheads) {
  if (WantsAccesses(options)) {
    accesses_ = std::make_unique<AccessStream>(calls, recorder, place.handle, options.ring_bytes,
                                               overheads);
  }
}

bool Context::Open(StreamHandle stream, Failures& failures) {
  std::call_once(is_opened_, [&] { OpenAll(stream, failures); });
  return !pool_.is_broken() && (accesses_ == nullptr || accesses_->is_open());
}

bool Context::OpenAll(StreamHandle stream, Failures& failures) {
  return failures.IsWell("taking memory for records", pool_.Open(stream)) &&
         (accesses_ == nullptr ||
          failures.IsWell("taking memory for accesses", accesses_->Open(stream)));
}

void Context::Close() {
  if (accesses_ != nullptr) {
    accesses_->Close();
  }
  pool_.Close();
}

std::shared_ptr<Context> Contexts::Get(ContextHandle handle, std::uint64_t device) {
  const std::lock_guard lock(mutex_);
  auto& context = contexts_[handle];
  if (context == nullptr) {
    context = std::make_shared<Context>(
        Context::Place{.handle = handle, .device = device, .number = ++last_number_}, calls_,
        recorder_, options_, overheads_);
  }
  return context;
}

std::shared_ptr<Context> Contexts::Find(ContextHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(handle);
  return found == contexts_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Context>> Contexts::All() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Context>> all;
  for (const auto& [handle, context] : contexts_) {
    all.push_back(context);
  }
  return all;
}

void Contexts::Remove(ContextHandle handle) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(handle);
}

}  // namespace orrery::capture::sanitizer
