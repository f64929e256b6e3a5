#pragma once

#include <memory>
#include <string>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"
#include "orrery/ingest/kineto/assembler.h"

namespace orrery::ingest::kineto {

/// The texts around the list of events.
struct Frame {
  std::string head;  // up to and with the list's `[`
  std::string tail;  // after its `]`
};

struct PipelineOptions {
  int threads = 0;                      // 0: one for each core
  std::size_t window_bytes = 2U << 20;  // how much text one thread parses at a time
};

/// Reads all events of a file into `assembler`: one thread cuts windows at places that look like
/// the end of an event, others parse them, and the rows come together in the order of the file.
/// A window that does not parse goes through the Salvager. What is missing at the end of the file
/// is a problem of the trace, not an error.
[[nodiscard]] Result<Frame> ReadEvents(std::unique_ptr<ByteSource> source,
                                       const PipelineOptions& options, Assembler& assembler);

}  // namespace orrery::ingest::kineto
