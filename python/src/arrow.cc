#include "python/src/arrow.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "python/src/table.h"

// The structures of the Arrow C data interface, as its specification fixes them.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace orrery::python {
namespace {

/// Texts one behind the other, as Arrow's "utf8" with offsets of 64 bits has them.
struct Texts {
  std::vector<std::int64_t> offsets = {0};
  std::string characters;

  void Add(std::string_view text) {
    characters += text;
    offsets.push_back(static_cast<std::int64_t>(characters.size()));
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
};

std::shared_ptr<const Texts> TextsOf(const StringTable& strings) {
  auto texts = std::make_shared<Texts>();
  for (std::size_t i = 0; i < strings.size(); ++i) {
    texts->Add(strings.View(static_cast<StringId>(i)));
  }
  return texts;
}

std::shared_ptr<const Texts> TextsOf(const std::vector<std::string>& names) {
  auto texts = std::make_shared<Texts>();
  for (const std::string& name : names) {
    texts->Add(name);
  }
  return texts;
}

std::string FormatOf(const Column& column) {
  if (column.is_float) {
    return column.item_bytes == 8 ? "g" : "f";
  }
  switch (column.item_bytes) {
    case 1:
      return column.is_signed ? "c" : "C";
    case 2:
      return column.is_signed ? "s" : "S";
    case 4:
      return column.is_signed ? "i" : "I";
    default:
      return column.is_signed ? "l" : "L";
  }
}

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// A schema and what it points to; children are freed with it unless somebody has moved them away.
struct SchemaParts {
  bool is_nullable = false;
  std::string format;
  std::string name;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

template <typename Parts, typename Arrow>
void Release(Arrow* arrow) {
  const std::unique_ptr<Parts> parts(static_cast<Parts*>(arrow->private_data));
  for (const auto& child : parts->children) {
    if (child->release != nullptr) {
      child->release(child.get());
    }
  }
  if (parts->dictionary != nullptr && parts->dictionary->release != nullptr) {
    parts->dictionary->release(parts->dictionary.get());
  }
  arrow->release = nullptr;
}

void FillSchema(std::unique_ptr<SchemaParts> parts, ArrowSchema& schema) {
  for (const auto& child : parts->children) {
    parts->pointers.push_back(child.get());
  }
  schema = {.format = parts->format.c_str(),
            .name = parts->name.c_str(),
            .metadata = nullptr,
            .flags = parts->is_nullable ? kNullable : 0,
            .n_children = static_cast<std::int64_t>(parts->pointers.size()),
            .children = parts->pointers.data(),
            .dictionary = parts->dictionary.get(),
            .release = &Release<SchemaParts, ArrowSchema>,
            .private_data = nullptr};
  schema.private_data = parts.release();
}

void FillColumnSchema(const Column& column, ArrowSchema& schema) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = FormatOf(column);
  parts->name = column.name;
  parts->is_nullable = column.is_link;
  if (column.codes != Codes::kNone) {
    auto texts = std::make_unique<SchemaParts>();
    texts->format = "U";
    parts->dictionary = std::make_unique<ArrowSchema>();
    FillSchema(std::move(texts), *parts->dictionary);
  }
  FillSchema(std::move(parts), schema);
}

// An array and what it points to.
struct ArrayParts {
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
  std::shared_ptr<const void> owner;   // of the buffers
  std::vector<std::uint8_t> validity;  // a bit for each row; empty: all are valid
  std::int64_t null_count = 0;
};

// Marks the rows of a link that lead nowhere as null.
void AddValidity(const Column& column, std::size_t num_rows, ArrayParts& parts) {
  const std::span rows(static_cast<const RowId*>(column.data), num_rows);
  parts.null_count = std::ranges::count(rows, kNoRow);
  if (parts.null_count == 0) {
    return;
  }
  parts.validity.resize((num_rows + 7) / 8);
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (rows[row] != kNoRow) {
      parts.validity[row / 8] |= static_cast<std::uint8_t>(1U << (row % 8));
    }
  }
  parts.buffers[0] = parts.validity.data();
}

void FillArray(std::int64_t length, std::unique_ptr<ArrayParts> parts, ArrowArray& array) {
  for (const auto& child : parts->children) {
    parts->pointers.push_back(child.get());
  }
  array = {.length = length,
           .null_count = parts->null_count,
           .offset = 0,
           .n_buffers = static_cast<std::int64_t>(parts->buffers.size()),
           .n_children = static_cast<std::int64_t>(parts->pointers.size()),
           .buffers = parts->buffers.data(),
           .children = parts->pointers.data(),
           .dictionary = parts->dictionary.get(),
           .release = &Release<ArrayParts, ArrowArray>,
           .private_data = nullptr};
  array.private_data = parts.release();
}

void FillTexts(const std::shared_ptr<const Texts>& texts, ArrowArray& array) {
  auto parts = std::make_unique<ArrayParts>();
  parts->buffers = {nullptr, texts->offsets.data(), texts->characters.data()};
  parts->owner = texts;
  FillArray(texts->size(), std::move(parts), array);
}

struct StreamParts {
  TableView table;
  std::shared_ptr<const Texts> strings;  // of all string columns together
  bool is_read = false;
};

void FillColumn(const StreamParts& stream, const Column& column, ArrowArray& array) {
  auto parts = std::make_unique<ArrayParts>();
  parts->buffers = {nullptr, column.data};
  parts->owner = stream.table.owner;
  if (column.is_link) {
    AddValidity(column, stream.table.num_rows, *parts);
  }
  if (column.codes != Codes::kNone) {
    parts->dictionary = std::make_unique<ArrowArray>();
    FillTexts(column.codes == Codes::kStrings ? stream.strings : TextsOf(column.names),
              *parts->dictionary);
  }
  FillArray(static_cast<std::int64_t>(stream.table.num_rows), std::move(parts), array);
}

StreamParts& PartsOf(ArrowArrayStream* stream) {
  return *static_cast<StreamParts*>(stream->private_data);
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = "+s";
  for (const Column& column : PartsOf(stream).table.columns) {
    FillColumnSchema(column, *parts->children.emplace_back(std::make_unique<ArrowSchema>()));
  }
  FillSchema(std::move(parts), *out);
  return 0;
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  StreamParts& own = PartsOf(stream);
  if (std::exchange(own.is_read, true)) {
    *out = {};
    return 0;
  }
  auto parts = std::make_unique<ArrayParts>();
  parts->buffers = {nullptr};
  for (const Column& column : own.table.columns) {
    FillColumn(own, column, *parts->children.emplace_back(std::make_unique<ArrowArray>()));
  }
  FillArray(static_cast<std::int64_t>(own.table.num_rows), std::move(parts), *out);
  return 0;
}

const char* GetLastError(ArrowArrayStream* /*stream*/) {
  return nullptr;
}

void ReleaseStream(ArrowArrayStream* stream) {
  const std::unique_ptr<StreamParts> parts(&PartsOf(stream));
  stream->release = nullptr;
}

}  // namespace

pybind11::capsule ArrowStream(const TableView& table) {
  auto parts = std::make_unique<StreamParts>(StreamParts{.table = table, .strings = {}});
  if (table.strings != nullptr) {
    parts->strings = TextsOf(*table.strings);
  }
  auto stream = std::make_unique<ArrowArrayStream>();
  *stream = {.get_schema = &GetSchema,
             .get_next = &GetNext,
             .get_last_error = &GetLastError,
             .release = &ReleaseStream,
             .private_data = parts.release()};
  const auto release = [](PyObject* capsule) {
    const std::unique_ptr<ArrowArrayStream> own(
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream")));
    if (own->release != nullptr) {
      own->release(own.get());
    }
  };
  return pybind11::capsule(stream.release(), "arrow_array_stream", release);
}

}  // namespace orrery::python
