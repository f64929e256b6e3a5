#include "orrery/cli/embedding.h"

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/stop.h"
#include "orrery/cli/program.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

thread_local Embedding* current = nullptr;

/// The embedding of this thread while it lives.
class CurrentEmbedding {
 public:
  explicit CurrentEmbedding(Embedding& embedding) : before_(std::exchange(current, &embedding)) {}

  CurrentEmbedding(const CurrentEmbedding&) = delete;
  CurrentEmbedding& operator=(const CurrentEmbedding&) = delete;

  ~CurrentEmbedding() { current = before_; }

 private:
  Embedding* before_;
};

}  // namespace

Embedding* Embedding::Current() {
  return current;
}

void RunEmbedded(const std::vector<std::string>& words, Embedding& embedding) {
  std::vector<std::string> all = {"orrery"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  arguments.reserve(all.size() + 1);
  for (std::string& word : all) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  const CurrentEmbedding scope(embedding);
  const StopScope stop(&embedding.stop);
  embedding.status = RunProgram(static_cast<int>(all.size()), arguments.data());
  // A job that does not fit has a result all the same; a search without any plan has none.
  const bool has_nothing = embedding.status == kExitOutOfMemory && !embedding.document;
  const bool has_failed =
      embedding.status == kExitUnusable || embedding.status == kExitBug || has_nothing;
  if (has_failed && !embedding.notices.empty()) {
    embedding.error = std::move(embedding.notices.back());
    embedding.notices.pop_back();
  }
}

}  // namespace orrery::cli
