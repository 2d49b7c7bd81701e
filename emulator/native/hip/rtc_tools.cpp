// Runs the compiler for hipRTC.
#include "hip/rtc_tools.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>

extern char** environ;

namespace hipscope {
namespace {

constexpr int kTimeoutSeconds = 120;

}  // namespace

std::vector<std::string> compiler() {
    const char* lines = std::getenv("HIPSCOPE_HIPRTC");
    if (lines == nullptr) throw std::runtime_error("hiprtc: HIPSCOPE_HIPRTC names no compiler; run the program with `hipscope profile` or `hipscope emulate`");
    std::vector<std::string> result;
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);)
        if (!line.empty()) result.push_back(line);
    return result;
}

Ran run(const std::vector<std::string>& arguments, const std::list<MemoryFile>& files) {
    const MemoryFile output, log;
    std::vector<char*> argv;
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    std::vector<char*> environment;  // the compiler must not load this library
    for (char** e = environ; *e != nullptr; ++e)
        if (!std::string_view(*e).starts_with("LD_PRELOAD=") && !std::string_view(*e).starts_with("HIPSCOPE_")) environment.push_back(*e);
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output.descriptor(), 1);
    posix_spawn_file_actions_adddup2(&actions, log.descriptor(), 2);
    for (const MemoryFile& file : files)  // onto itself: that makes the child keep it
        posix_spawn_file_actions_adddup2(&actions, file.descriptor(), file.descriptor());
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) throw std::runtime_error("hiprtc: cannot run the compiler '" + arguments[0] + "'");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kTimeoutSeconds);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > deadline) {
            kill(-child, SIGKILL);
            waitpid(child, &status, 0);
            throw std::runtime_error("hiprtc: the compiler did not finish in " + std::to_string(kTimeoutSeconds) + " s");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {WIFEXITED(status) && WEXITSTATUS(status) == 0, output.content(), log.content()};
}

}  // namespace hipscope
