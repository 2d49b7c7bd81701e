// What compiling and linking at run time share: result codes, the compiler as a child process. All that goes in and
// out of it is in memory, so that a run that is killed leaves no file.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "core/memory_file.hpp"

namespace hipscope {

using Result = int;
enum : Result { ok, out_of_memory, creation_failure, invalid_input, invalid_program, invalid_option, compilation, builtin_failure,
                no_expressions_after_compilation, no_names_before_compilation, expression_not_valid, internal_error, linking = 100 };

/// The compiler that HIPSCOPE_HIPRTC names, with its arguments. Throws when it names none.
std::vector<std::string> compiler();

/// What one run of the compiler gave.
struct Ran {
    bool done = false;
    std::string output;
    std::string log;
};

/// Run the compiler with `files` open in it under the names that they have here. Its result is what it writes to
/// standard output. Throws when it cannot run or takes too long.
Ran run(const std::vector<std::string>& arguments, const std::list<MemoryFile>& files);

}  // namespace hipscope
