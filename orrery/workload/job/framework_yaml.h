#pragma once

#include "orrery/base/yaml_fields.h"
#include "orrery/workload/job/framework.h"

namespace orrery::workload {

/// Reads declared properties over those of `framework`; what is not there stays as it is. For
/// catalogues and for jobs that override some.
void ReadDeclared(YamlFields& fields, Framework& framework);

/// Reads what the host takes for a kernel, the one fitted scalar that a job may know better: its
/// host may have been measured.
void ReadHostCost(YamlFields& fields, Framework& framework);

}  // namespace orrery::workload
