// What compiling and linking at run time share: result codes, a temporary folder, the compiler as a child process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hipscope {

using Result = int;
enum : Result { ok, out_of_memory, creation_failure, invalid_input, invalid_program, invalid_option, compilation, builtin_failure,
                no_expressions_after_compilation, no_names_before_compilation, expression_not_valid, internal_error, linking = 100 };

/// A folder that is gone when its owner is.
struct Folder {
    std::string path;
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

/// The compiler that HIPSCOPE_HIPRTC names, with its arguments. Throws when it names none.
std::vector<std::string> compiler();
std::string content_of(const std::string& path);
/// Run the compiler with its output in `log`. False when it fails; throws when it cannot run or takes too long.
bool run(const std::vector<std::string>& arguments, const std::string& log);
/// What the compiler said, without the name of the folder.
std::string said(const Folder& folder, const std::string& log);

}  // namespace hipscope
