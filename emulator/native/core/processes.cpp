// Several processes of one program.
#include "core/processes.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <stdexcept>

namespace hipscope {
namespace {

std::atomic<int> generation{0};

// When the library is loaded: a program may fork before its first call.
[[gnu::constructor]] void watch_forks() {
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

int fork_generation() { return generation.load(std::memory_order_relaxed); }

std::string own_folder(const std::string& folder) {
    namespace fs = std::filesystem;
    for (int number = 1;; ++number) {
        const std::string own = number == 1 ? folder : folder + "/process-" + std::to_string(number);
        std::error_code error;
        fs::create_directories(own, error);
        // The process that makes this file owns the folder, no other may.
        const int file = error ? -1 : ::open((own + "/owner").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0) {
            ::close(file);
            return own;
        }
        if (error || errno != EEXIST)
            throw std::runtime_error("cannot write to the output folder '" + folder + "' (HIPSCOPE_OUT)");
    }
}

}  // namespace hipscope
