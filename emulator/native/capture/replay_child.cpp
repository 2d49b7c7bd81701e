// The child's side and what its end means.
#include "capture/replay_child.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "capture/replay_dispatch.hpp"
#include "capture/watchdog.hpp"
#include "core/files.hpp"
#include "engine/json_value.hpp"

namespace hipscope {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kSpare = 10;  // seconds

ChildEnd replay(const ReplayOptions& options, const ChildDuties& duties) {
    try {
        fs::create_directories(options.out);
        const auto started = Clock::now();
        ReplayOutcome outcome = replay_in_time(options);
        outcome.seconds = std::chrono::duration<double>(Clock::now() - started).count();
        write_result(options.out, outcome);
        return outcome.status == "ok" ? ChildEnd::ok : ChildEnd::not_ok;
    } catch (const std::exception& error) {
        duties.cannot_tell(error.what());
        return ChildEnd::broken;
    }
}

}  // namespace

pid_t start_replay(const ReplayOptions& options, const ChildDuties& duties) {
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process < 0) throw std::runtime_error("cannot start a process");
    if (process > 0) return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) std::_Exit(static_cast<int>(ChildEnd::broken));
    duties.begin();
    std::_Exit(static_cast<int>(replay(options, duties)));
}

ChildEnd child_end(const ReplayOptions& options, int status) {
    if (WIFSIGNALED(status)) {
        fs::create_directories(options.out);
        write_result(options.out, {"fault", "it brought the replay down (signal " + std::to_string(WTERMSIG(status)) + ")"});
        return ChildEnd::not_ok;
    }
    const auto end = static_cast<ChildEnd>(WEXITSTATUS(status));
    if (end != ChildEnd::ok) return end;
    if (!fs::exists(options.out + "/result.json")) return ChildEnd::broken;
    const bool ok = parse_json(read_file(options.out + "/result.json"))["status"].text == "ok";  // the watchdog leaves with 0, too
    return ok ? ChildEnd::ok : ChildEnd::not_ok;
}

std::optional<double> most_seconds(const ReplayOptions& options) {
    if (options.max_seconds <= 0) return std::nullopt;
    return options.max_seconds + kSpare;
}

}  // namespace hipscope
