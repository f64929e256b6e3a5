#include "orrery/ingest/card/flatten_yaml.h"

#include <cctype>
#include <cstddef>
#include <exception>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::card {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxNodes = 10'000;

std::string Folded(std::string_view key) {
  std::string folded(key);
  for (char& c : folded) {
    c = c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return folded;
}

std::string Joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

class Flattener {
 public:
  explicit Flattener(trace::ProblemLog& problems) : problems_(problems) {}

  Status Add(const YAML::Node& node, const std::string& path, int depth) {
    if (++num_nodes_ > kMaxNodes || depth > kMaxDepth) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("more than {} values or {} levels", kMaxNodes, kMaxDepth));
    }
    if (node.IsScalar() && !node.Scalar().empty()) {
      scalars_[path] = node.Scalar();
    } else if (node.IsSequence()) {
      return AddSequence(node, path, depth);
    } else if (node.IsMap()) {
      return AddMap(node, path, depth);
    }
    return {};
  }

  [[nodiscard]] ScalarsByPath Take() { return std::move(scalars_); }

 private:
  Status AddSequence(const YAML::Node& node, const std::string& path, int depth) {
    for (std::size_t index = 0; index < node.size(); ++index) {
      ORRERY_TRY_STATUS(Add(node[index], Joined(path, std::to_string(index)), depth + 1));
    }
    return {};
  }

  Status AddMap(const YAML::Node& node, const std::string& path, int depth) {
    const bool keeps_case = path.ends_with(".env");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        problems_.Loss("key of a card that is not a string", 1, Place(entry.first));
        continue;
      }
      const std::string& key = entry.first.Scalar();
      const std::string child = Joined(path, keeps_case ? key : Folded(key));
      if (!seen.insert(child).second) {
        problems_.Note("duplicate key of a card; the last one is used", 1, Place(entry.first));
        Forget(child);
      }
      ORRERY_TRY_STATUS(Add(entry.second, child, depth + 1));
    }
    return {};
  }

  void Forget(const std::string& path) {
    std::erase_if(scalars_, [&](const auto& scalar) {
      return scalar.first == path || scalar.first.starts_with(path + ".");
    });
  }

  static std::string Place(const YAML::Node& node) {
    return fmt::format("line {}", node.Mark().line + 1);
  }

  trace::ProblemLog& problems_;
  ScalarsByPath scalars_;
  int num_nodes_ = 0;
};

// Ignores the events of a document.
class Listener : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}

  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}

  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}

  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}

  void OnSequenceEnd() override {}

  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}

  void OnMapEnd() override {}
};

// The parser stops silently where a document ends, also at a stray comma. YAML::LoadAll is
// no help: it never ends on some broken texts (", x").
bool HasTextAfterFirstDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Listener listener;
  parser.HandleNextDocument(listener);
  return static_cast<bool>(parser);
}

Result<ScalarsByPath> FlattenFirstDocument(const std::string& text, trace::ProblemLog& problems) {
  const YAML::Node document = YAML::Load(text);
  problems.Loss("text after the first YAML document of a card",
                HasTextAfterFirstDocument(text) ? 1 : 0);
  Flattener flattener(problems);
  ORRERY_TRY_STATUS(flattener.Add(document, "", 0));
  return flattener.Take();
}

}  // namespace

Result<ScalarsByPath> FlattenYaml(std::string_view text, trace::ProblemLog& problems) {
  try {
    return FlattenFirstDocument(std::string(text), problems);
  } catch (const YAML::Exception& error) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("line {}, column {}: {}", error.mark.line + 1, error.mark.column + 1,
                            error.msg));
  } catch (const std::exception& error) {
    return Fail(Error::Kind::kInvalidInput, error.what());
  }
}

}  // namespace orrery::ingest::card
