#pragma once

#include <atomic>
#include <string>

namespace orrery {

/// A temporary file or folder. While the object lives, a signal that ends the program removes it
/// (RemoveUnfinishedFilesOnSignals); otherwise its owner does.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();

  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::atomic<const char*>* place_ = nullptr;  // the path, for the signal handler
};

/// Removes unfinished files when SIGHUP, SIGINT or SIGTERM ends the program; call it once, early.
void RemoveUnfinishedFilesOnSignals();

}  // namespace orrery
