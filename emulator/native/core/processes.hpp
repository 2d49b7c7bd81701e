// A program may be several processes, forked or started beside each other (MPI): what each may call its own.
#pragma once

#include <string>

namespace hipscope {

/// Changes in a child that fork() made: threads and open files of before are its parent's.
[[nodiscard]] int fork_generation();

/// The folder that this process alone writes to: `folder` for the first that asks, `folder`/process-2 for the second, ...
/// Throws std::runtime_error when it cannot be made.
std::string own_folder(const std::string& folder);

}  // namespace hipscope
