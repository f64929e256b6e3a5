#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "capture/sanitizer/host/access_stream.h"
#include "capture/sanitizer/host/failures.h"
#include "capture/sanitizer/host/launch_pool.h"
#include "capture/sanitizer/host/left_out_nodes.h"
#include "capture/sanitizer/host/options.h"
#include "capture/sanitizer/host/overheads.h"
#include "capture/sanitizer/host/vendor_calls.h"

namespace orrery::capture::sanitizer {

/// What the capture has in one context. Nothing is shared between contexts.
class Context {
 public:
  struct Place {
    ContextHandle handle{};
    std::uint64_t device = 0;
    std::uint64_t number = 0;  // in the recording
  };

  Context(Place place, VendorCalls& calls, Recorder& recorder, const Options& options,
          Overheads& overheads);

  /// Takes the memory at the first launch, by work on its stream; says whether there is any.
  [[nodiscard]] bool Open(StreamHandle stream, Failures& failures);

  [[nodiscard]] const Place& place() const { return place_; }

  [[nodiscard]] LaunchPool& pool() { return pool_; }

  [[nodiscard]] LeftOutNodes& left_out_nodes() { return left_out_nodes_; }

  /// Null where accesses are not recorded one by one.
  [[nodiscard]] AccessStream* accesses() { return accesses_.get(); }

  /// Before the context is destroyed.
  void Close();

 private:
  bool OpenAll(StreamHandle stream, Failures& failures);

  Place place_;
  LaunchPool pool_;
  LeftOutNodes left_out_nodes_;
  std::unique_ptr<AccessStream> accesses_;
  std::once_flag is_opened_;
};

/// The contexts of the process, found by their handles. Any thread may call.
class Contexts {
 public:
  Contexts(VendorCalls& calls, Recorder& recorder, const Options& options, Overheads& overheads)
      : calls_(calls), recorder_(recorder), options_(options), overheads_(overheads) {}

  /// The context, new if it was not known.
  [[nodiscard]] std::shared_ptr<Context> Get(ContextHandle handle, std::uint64_t device);

  /// The context, or null.
  [[nodiscard]] std::shared_ptr<Context> Find(ContextHandle handle);

  [[nodiscard]] std::vector<std::shared_ptr<Context>> All();

  void Remove(ContextHandle handle);

 private:
  VendorCalls& calls_;
  Recorder& recorder_;
  Options options_;
  Overheads& overheads_;
  std::mutex mutex_;  // guards all below
  std::uint64_t last_number_ = 0;
  std::map<ContextHandle, std::shared_ptr<Context>> contexts_;
};

}  // namespace orrery::capture::sanitizer
