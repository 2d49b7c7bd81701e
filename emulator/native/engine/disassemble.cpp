// Runs llvm-objdump on a code object, once per content: the text is kept in the cache folder.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "core/files.hpp"
#include "core/memory_file.hpp"
#include "engine/code_object.hpp"

extern char** environ;

namespace hipscope {
namespace {

namespace fs = std::filesystem;

/// Standard output of `program arguments...` on `input`; throws when it fails or takes longer than `timeout_s`.
std::string output_of(const std::string& program, const std::vector<std::string>& arguments, const MemoryFile& input,
                      int timeout_s) {
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot create a pipe for llvm-objdump");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, input.descriptor(), 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    // The child must not load this library again, nor record anything.
    std::vector<char*> environment;
    for (char** e = environ; *e != nullptr; ++e)
        if (!std::string_view(*e).starts_with("LD_PRELOAD=") && !std::string_view(*e).starts_with("HIPSCOPE_"))
            environment.push_back(*e);
    environment.push_back(nullptr);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        throw std::runtime_error("cannot run the disassembler '" + program + "'; set HIPSCOPE_OBJDUMP to llvm-objdump");
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
    std::string text;
    std::vector<char> block(1U << 18U);
    bool late = false;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd readable{ends[0], POLLIN, 0};
        if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) == 0) {
            late = true;
            kill(child, SIGKILL);
            break;
        }
        const ssize_t n = read(ends[0], block.data(), block.size());
        if (n <= 0) break;
        text.append(block.data(), static_cast<std::size_t>(n));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (late) throw std::runtime_error("llvm-objdump did not finish in " + std::to_string(timeout_s) + " s");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error("'" + program + "' cannot disassemble the code object; set HIPSCOPE_OBJDUMP to the llvm-objdump of an LLVM that knows its target");
    return text;
}

/// The disassembler where none was named (a program that found this library by itself): the newest of those that are installed, for
/// older ones do not know the instruction set.
std::string find_objdump() {
    std::vector<std::string> names{"/opt/rocm/llvm/bin/llvm-objdump"};
    for (int version = 25; version >= 17; --version) names.push_back("llvm-objdump-" + std::to_string(version));
    const char* path = std::getenv("PATH");
    for (const std::string& name : names) {
        std::istringstream folders(name.starts_with('/') ? "" : path == nullptr ? "" : path);
        if (name.starts_with('/') && access(name.c_str(), X_OK) == 0) return name;
        for (std::string folder; std::getline(folders, folder, ':');)
            if (const std::string full = folder + "/" + name; access(full.c_str(), X_OK) == 0) return full;
    }
    return "llvm-objdump";
}

}  // namespace

std::string disassemble(const std::string& elf, const std::string& hash, const DisassemblySettings& settings) {
    const fs::path kept = settings.cache.empty() ? fs::path() : fs::path(settings.cache) / (hash + ".s");
    if (!kept.empty()) {
        std::ifstream file(kept, std::ios::binary);
        if (file) return {std::istreambuf_iterator<char>(file), {}};
    }
    const std::string program = settings.objdump.empty() ? find_objdump() : settings.objdump;
    std::string text = output_of(program, {"-d", "-"}, MemoryFile(elf, "the code object"), settings.timeout_s);
    if (!kept.empty()) {
        std::error_code ignored;  // the cache saves time only; a full disk must not stop the run
        fs::create_directories(settings.cache, ignored);
        const fs::path part = kept.string() + "." + std::to_string(getpid());
        try {
            write_file(part.string(), text);
            fs::rename(part, kept);
        } catch (const std::exception&) {
            fs::remove(part, ignored);
        }
    }
    return text;
}

}  // namespace hipscope
