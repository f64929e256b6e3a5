#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "orrery/api/any_verb.h"
#include "orrery/api/input/shared_run.h"
#include "orrery/api/session.h"
#include "orrery/api/verbs.h"
#include "orrery/api/version.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/stop.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/draw/format.h"
#include "orrery/ingest/run.h"
#include "orrery/report/document.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "python/src/arrow.h"
#include "python/src/call.h"
#include "python/src/table.h"

namespace orrery::python {
namespace {

namespace py = pybind11;

using RunPointer = std::shared_ptr<api::SharedRun>;  // pybind11 wants no const
using Progress = std::function<void(std::int64_t, std::int64_t, const std::string&)>;

/// The kernels of a rank, without other activities, and the run that has their texts.
struct Kernels {
  RunPointer run;
  trace::Activities rows;
};

/// A rank of a run.
struct Rank {
  RunPointer run;
  std::size_t place = 0;                        // TraceSet::ranks
  std::shared_ptr<const Kernels> kernels = {};  // made when asked for

  [[nodiscard]] const trace::Trace& trace() const { return run->run->set.ranks[place]; }
};

/// The output of a verb.
struct Delivered {
  int status = 0;
  report::Document document = {};
  std::vector<std::string> notices = {};
  std::string json = "null";
};

template <typename Work>
auto LookUpTables(const Rank& rank, const Work& work) {
  trace::ForEachTable(rank.trace(),
                      [&](const char* name, const auto& table) { work(name, table); });
}

std::vector<std::string> TableNames(const Rank& rank) {
  std::vector<std::string> names;
  LookUpTables(rank, [&](const char* name, const auto&) { names.emplace_back(name); });
  return names;
}

TableView TableOf(const Rank& rank, const std::string& wanted) {
  std::optional<TableView> found;
  LookUpTables(rank, [&](const char* name, const auto& table) {
    if (wanted == name) {
      found = ViewOf(name, table, rank.run, &rank.trace().strings);
    }
  });
  if (!found) {
    throw py::key_error(wanted);
  }
  return *std::move(found);
}

// The rows of the activities that are kernels: the activities themselves where all are.
TableView KernelsOf(Rank& rank) {
  const trace::Activities& all = rank.trace().activities;
  if (rank.kernels == nullptr) {
    std::vector<RowId> rows;
    for (RowId row = 0; row < all.size(); ++row) {
      if (all.kind[row] == trace::ActivityKind::kKernel) {
        rows.push_back(row);
      }
    }
    if (rows.size() == all.size()) {
      return ViewOf("kernels", all, rank.run, &rank.trace().strings);
    }
    auto kernels = std::make_shared<Kernels>(Kernels{.run = rank.run, .rows = all});
    PermuteRows(kernels->rows, rows);
    rank.kernels = std::move(kernels);
  }
  return ViewOf("kernels", rank.kernels->rows, rank.kernels, &rank.trace().strings);
}

py::dtype TypeOf(const Column& column) {
  const char kind = column.is_float ? 'f' : (column.is_signed ? 'i' : 'u');
  return py::dtype(std::string(1, kind) + std::to_string(column.item_bytes));
}

// The array keeps the run alive, and is read-only.
py::array ArrayOf(const TableView& table, const std::string& name) {
  const Column* const column = table.Find(name);
  if (column == nullptr) {
    throw py::key_error(name);
  }
  using Owner = std::shared_ptr<const void>;
  py::capsule owner(std::make_unique<Owner>(table.owner).release(), [](void* pointer) {
    const std::unique_ptr<Owner> released(static_cast<Owner*>(pointer));
  });
  py::array array(TypeOf(*column), {table.num_rows}, {column->item_bytes}, column->data, owner);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

// Texts of traces may hold anything; what is no UTF-8 is replaced.
py::str TextOf(std::string_view text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace");
  if (decoded == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::str>(decoded);
}

py::list CategoriesOf(const TableView& table, const std::string& name) {
  const Column* const column = table.Find(name);
  if (column == nullptr) {
    throw py::key_error(name);
  }
  py::list texts;
  if (column->codes == Codes::kStrings) {
    for (std::size_t i = 0; i < table.strings->size(); ++i) {
      texts.append(TextOf(table.strings->View(static_cast<StringId>(i))));
    }
  } else {
    for (const std::string& text : column->names) {
      texts.append(TextOf(text));
    }
  }
  return texts;
}

RunPointer Read(const std::vector<std::string>& paths, int threads, const std::string& step_marker,
                double max_unpack_ratio, const std::string& align, const Progress& progress) {
  const auto choice = api::AlignChoices().find(align);
  if (choice == api::AlignChoices().end()) {
    throw OrreryError("align: auto, always or off, not " + align);
  }
  std::atomic<bool> stop = false;
  Result<ingest::Run> run;
  auto read = std::make_shared<api::SharedRun>();
  read->align = choice->second;
  CallWithoutLock(
      [&] {
        const StopScope scope(&stop);
        if (const Status checked = trace::CheckStepMarker(step_marker); !checked) {
          run = tl::unexpected(checked.error());
          return;
        }
        ingest::RunOptions options;
        options.read.threads = threads;
        options.read.step_marker = step_marker;
        options.read.unpack.max_ratio = max_unpack_ratio;
        if (progress) {
          options.progress = [&](std::size_t done, std::size_t total, std::string_view file) {
            const py::gil_scoped_acquire lock;
            progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total),
                     std::string(file));
          };
        }
        run = ingest::ReadRun(paths, options);
        if (run) {
          const auto own = std::make_shared<ingest::Run>(*std::move(run));
          read->aligned = std::make_shared<const trace::AlignedRun>(
              trace::MatchAndAlign(own->set, read->align));
          read->run = own;
        }
      },
      [&] { stop = true; });
  if (!run) {
    throw OrreryError(run.error().message());
  }
  return read;
}

// Numbers of NumPy and paths are texts and numbers already.
Value ValueOf(const py::handle& object) {
  if (object.is_none()) {
    return {};
  }
  if (py::isinstance<py::bool_>(object)) {
    return object.cast<bool>();
  }
  if (py::isinstance<py::int_>(object)) {
    return object.cast<std::int64_t>();
  }
  if (py::isinstance<py::float_>(object)) {
    return object.cast<double>();
  }
  if (py::isinstance<py::str>(object)) {
    return object.cast<std::string>();
  }
  Value list = Value::List();
  for (const py::handle item : object) {
    list.Add(ValueOf(item));
  }
  return list;
}

// Models that all calls share.
api::Session& SharedSession() {
  static api::Session session;
  return session;
}

std::string ProgramVersion() {
  return "orrery " + std::string(api::Version());
}

const api::AnyVerb& VerbNamed(const std::string& name) {
  const Result<const api::AnyVerb*> verb = api::VerbNamed(name);
  if (!verb) {
    throw OrreryError(verb.error().message());
  }
  return **verb;
}

std::string RequestSchemaOf(const std::string& verb) {
  return draw::JsonText(VerbNamed(verb).request_schema());
}

// Calls a verb of the library. `trace`: a file to write the simulated step to; empty: none.
Delivered CallVerb(const std::string& name, const py::dict& fields,
                   const std::map<std::string, RunPointer>& runs, const std::string& trace,
                   bool has_page, const Progress& progress) {
  const api::AnyVerb& verb = VerbNamed(name);
  api::AnyRequest request{.needs_pictures = has_page};
  for (const auto& [key, value] : fields) {
    request.fields.Set(key.cast<std::string>(), ValueOf(value));
  }
  request.shared_run = [&](const std::string& path) {
    const auto found = runs.find(path);
    return found == runs.end() ? api::SharedRun() : *found->second;
  };
  std::atomic<bool> stop = false;
  request.call.stop = &stop;
  if (progress) {
    request.call.progress = [&](std::int64_t done, std::int64_t total, std::string_view what) {
      const py::gil_scoped_acquire lock;
      progress(done, total, std::string(what));
    };
  }
  Result<api::AnyAnswer> answer;
  Status written;
  CallWithoutLock(
      [&] {
        answer = verb.call(SharedSession(), request);
        if (answer && !trace.empty()) {
          written = answer->write_trace(trace);
        }
      },
      [&] { stop = true; });
  if (!answer || !written) {
    throw OrreryError(answer ? written.error().message() : answer.error().message());
  }
  const Value& data = answer->document.data.IsNull() ? answer->data : answer->document.data;
  return {.status = static_cast<int>(answer->outcome),
          .document = answer->document,
          .notices = std::move(answer->notices),
          .json = data.IsNull() ? report::RenderJson(answer->document) : draw::JsonText(data)};
}

py::list ProblemsOf(const trace::ProblemLog& log) {
  py::list problems;
  for (const trace::Problem& problem : log.all()) {
    py::dict entry;
    entry["what"] = TextOf(problem.what);
    entry["first"] = TextOf(problem.first);
    entry["count"] = problem.count;
    entry["is_loss"] = problem.severity == trace::Severity::kLoss;
    problems.append(std::move(entry));
  }
  return problems;
}

py::list SkippedOf(const ingest::Run& run) {
  py::list skipped;
  for (const ingest::SkippedFile& file : run.skipped) {
    skipped.append(py::make_tuple(TextOf(file.file), TextOf(file.why)));
  }
  return skipped;
}

py::dict InfoOf(const Rank& rank) {
  const trace::TraceInfo& info = rank.trace().info;
  py::dict entry;
  entry["rank"] = trace::RankOf(rank.run->run->set, rank.place);
  entry["world_size"] = info.world_size;
  entry["format"] = TextOf(info.format);
  entry["producer"] = TextOf(info.producer);
  entry["host_name"] = TextOf(info.host_name);
  entry["device"] = TextOf(trace::DeviceName(rank.trace()));
  py::list files;
  for (const std::string& file : info.files) {
    files.append(TextOf(file));
  }
  entry["files"] = std::move(files);
  return entry;
}

std::vector<Rank> RanksOf(const RunPointer& run) {
  std::vector<Rank> ranks;
  for (const std::uint32_t place : trace::PlacesInRankOrder(run->run->set)) {
    ranks.push_back({.run = run, .place = place});
  }
  return ranks;
}

std::string HtmlOf(const Delivered& delivered) {
  return report::RenderHtml(delivered.document, {.version = ProgramVersion()});
}

void DefineRuns(py::module_& module) {
  py::class_<TableView>(module, "Table")
      .def_readonly("name", &TableView::name)
      .def("__len__", [](const TableView& table) { return table.num_rows; })
      .def_property_readonly("columns",
                             [](const TableView& table) {
                               std::vector<std::string> names;
                               for (const Column& column : table.columns) {
                                 names.push_back(column.name);
                               }
                               return names;
                             })
      .def("column", &ArrayOf)
      .def("categories", &CategoriesOf)
      .def("has_categories",
           [](const TableView& table, const std::string& name) {
             const Column* const column = table.Find(name);
             return column != nullptr && column->codes != Codes::kNone;
           })
      .def("is_link",
           [](const TableView& table, const std::string& name) {
             const Column* const column = table.Find(name);
             return column != nullptr && column->is_link;
           })
      .def("arrow_stream", &ArrowStream);
  py::class_<Rank>(module, "Rank")
      .def_property_readonly("tables", &TableNames)
      .def("table", &TableOf)
      .def_property_readonly("kernels", &KernelsOf)
      .def_property_readonly("rank_index", [](const Rank& rank) { return rank.place; })
      .def_property_readonly("info", &InfoOf)
      .def_property_readonly("problems",
                             [](const Rank& rank) { return ProblemsOf(rank.trace().problems); });
  py::class_<api::SharedRun, RunPointer>(module, "Run")
      .def_property_readonly("ranks", &RanksOf)
      .def_property_readonly("skipped",
                             [](const api::SharedRun& own) { return SkippedOf(*own.run); })
      .def_property_readonly("is_partial",
                             [](const api::SharedRun& own) { return own.run->is_partial(); })
      .def_property_readonly("instances",
                             [](const RunPointer& own) {
                               return ViewOf("instances", own->aligned->matched.instances,
                                             own->aligned, nullptr);
                             })
      .def_property_readonly("members",
                             [](const RunPointer& own) {
                               return ViewOf("members", own->aligned->matched.members, own->aligned,
                                             nullptr);
                             })
      .def_property_readonly("match_problems", [](const api::SharedRun& own) {
        return ProblemsOf(own.aligned->matched.problems);
      });
}

void DefineVerbs(py::module_& module) {
  py::class_<Delivered>(module, "Delivered")
      .def_readonly("status", &Delivered::status)
      .def_readonly("notices", &Delivered::notices)
      .def_readonly("json", &Delivered::json)
      .def("text",
           [](const Delivered& own, std::size_t width) {
             return report::RenderText(own.document, {.width = width});
           })
      .def("html", &HtmlOf);
  module.def("read", &Read);
  module.def("call", &CallVerb);
  module.def("request_schema", &RequestSchemaOf);
  module.def("version", &ProgramVersion);
}

}  // namespace

const Column* TableView::Find(std::string_view column) const {
  for (const Column& own : columns) {
    if (own.name == column) {
      return &own;
    }
  }
  return nullptr;
}

}  // namespace orrery::python

PYBIND11_MODULE(_native, module) {
  pybind11::register_exception<orrery::python::OrreryError>(module, "Error");
  module.attr("Error").attr("__module__") = "orrery";  // as users import and read it
  orrery::python::DefineRuns(module);
  orrery::python::DefineVerbs(module);
}
