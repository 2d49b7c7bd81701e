// Counts of library calls, and the file that holds them.
#include "hip/library_calls.hpp"

#include "core/files.hpp"
#include "core/processes.hpp"
#include "engine/json.hpp"

namespace hipscope {

using std::chrono::steady_clock;

void LibraryCalls::called(const std::string& name, RawOutput& output) {
    if (generation_ != fork_generation()) counts_.clear();
    generation_ = fork_generation();
    const bool first = ++counts_[name] == 1;
    if (first || steady_clock::now() - written_ > std::chrono::milliseconds(100)) write(output);
}

void LibraryCalls::write(RawOutput& output) {
    if (counts_.empty() || generation_ != fork_generation()) return;
    Json json;
    json.open('{');
    for (const auto& [name, count] : counts_) json.field(name, count);
    json.close('}');
    output.attempt([&] { replace_file(output.directory() + "/library_calls.json", json.text()); });
    written_ = steady_clock::now();
}

}  // namespace hipscope
