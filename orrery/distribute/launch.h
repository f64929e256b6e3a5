#pragma once

#include <functional>

namespace orrery::distribute {

/// The launch of this process.
struct Launch {
  int processes = 1;
  int rank = 0;  // of this process

  bool operator==(const Launch&) const = default;
};

/// Returns the value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;

/// Reads what mpirun (Open MPI, MPICH) and Slurm's srun with an MPI plugin tell the processes that
/// they start; a single process where they say nothing. MPI itself would tell, but to ask it takes
/// a third of a second, and a network.
[[nodiscard]] Launch ReadLaunch(const Environment& environment);

}  // namespace orrery::distribute
