#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "capture/cupti/activity_source.h"
#include "capture/cupti/activity_writer.h"
#include "capture/cupti/buffer_queue.h"
#include "capture/recorder/listener.h"
#include "capture/recorder/recorder.h"

namespace orrery::capture {

/// Coarse capture of one process: starts the source, and lets a thread of its own write what comes,
/// so that neither the target nor the source ever waits for it.
class CoarseSession : public RecorderListener {
 public:
  CoarseSession(Recorder& recorder, ActivitySource& source, const CollectionOptions& options);
  ~CoarseSession() override;
  CoarseSession(const CoarseSession&) = delete;
  CoarseSession& operator=(const CoarseSession&) = delete;

  /// Begins; returns why nothing is collected, or nothing. What frameworks tell is recorded either
  /// way.
  std::string Start();

  /// Brings everything home and writes it; once.
  void Finish();

  void OnFlush() override;

 private:
  void WriteUntilStopped();
  void WriteFull(const BufferQueue::Full& full);
  void WriteAllFull();
  void NoteClocks();

  Recorder& recorder_;
  ActivitySource& source_;
  CollectionOptions options_;
  BufferQueue queue_;
  std::mutex writing_;  // guards writer_
  ActivityWriter writer_;
  std::thread thread_;
};

}  // namespace orrery::capture
