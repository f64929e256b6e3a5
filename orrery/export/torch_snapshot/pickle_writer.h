#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"

namespace orrery::exporting {

/// Writes plain values as a pickle of protocol 4: dictionaries, lists, pairs, texts, integers,
/// booleans. No opcode that names or calls something is ever written, and only opcodes that
/// PyTorch's viewer knows. A repeated text is a reference to the first.
///
/// Values are written in order: BeginDict, then keys and values in turn, EndDict; BeginList, then
/// values, EndList. The first error of the sink is kept and returned by Finish.
class PickleWriter {
 public:
  /// The number by which a list or dictionary that was written is referred to.
  using Reference = std::uint32_t;

  explicit PickleWriter(ByteSink& sink);

  void BeginDict();
  void EndDict();
  void BeginList();

  /// As BeginList, for a list that Again can name.
  [[nodiscard]] Reference BeginSharedList();
  void EndList();

  void Again(Reference list);
  void Text(std::string_view text);
  void Integer(std::int64_t value);
  void Bool(bool value);
  void Pair(std::int64_t first, std::int64_t second);

  // A key and its value.
  void Text(std::string_view key, std::string_view value);
  void Integer(std::string_view key, std::int64_t value);
  void Bool(std::string_view key, bool value);

  /// Ends the pickle; does not close the sink.
  [[nodiscard]] Status Finish();

 private:
  struct Open {
    bool is_list = false;
    std::size_t num_values = 0;  // keys count too
  };

  void BeginValue();
  void PutInteger(std::int64_t value);
  void PutReference(Reference reference);

  void Put(char byte) { buffer_ += byte; }

  void PutLittleEndian(std::uint64_t value, std::size_t num_bytes);
  void Flush();

  ByteSink& sink_;
  Status status_;
  std::string buffer_;
  std::vector<Open> open_;
  std::unordered_map<std::string, Reference> texts_;
  Reference num_references_ = 0;
};

}  // namespace orrery::exporting
