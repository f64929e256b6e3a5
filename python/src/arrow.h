#pragma once

#include <pybind11/pybind11.h>

#include "python/src/table.h"

namespace orrery::python {

/// A capsule "arrow_array_stream" with the table as one record batch, for the Arrow PyCapsule
/// interface (https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html). Columns
/// are not copied; the texts of string columns are, once, as the dictionary of all of them.
[[nodiscard]] pybind11::capsule ArrowStream(const TableView& table);

}  // namespace orrery::python
