// Starts the child and waits for it, a little at a time, so that a caller's signal handlers run in between.
//
// The captured pointers are absolute, so a process has room for one replay; children have one address space each. What
// they run is ours alone: no Python, and no lock that another thread of the parent may have held when it was copied.
#include "library/replay.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "capture/replay_child.hpp"

namespace hipscope {
namespace {

using Clock = std::chrono::steady_clock;

/// A line of text that a child can leave for its parent.
class SharedLine {
public:
    SharedLine() : text_(static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (text_ == MAP_FAILED) throw std::runtime_error("no memory for a replay");
    }
    ~SharedLine() { munmap(text_, kBytes); }
    SharedLine(const SharedLine&) = delete;
    SharedLine& operator=(const SharedLine&) = delete;

    void put(const char* line) { std::strncpy(text_, line, kBytes - 1); }
    [[nodiscard]] std::string get() const { return text_; }

private:
    static constexpr std::size_t kBytes = 4096;
    char* text_;
};

/// A child of ours, killed and reaped when it is not wanted any more.
class Child {
public:
    explicit Child(pid_t process) : process_(process), handle_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
    ~Child() {
        if (!ended_) {
            kill(process_, SIGKILL);
            waitpid(process_, nullptr, 0);
        }
        if (handle_ >= 0) close(handle_);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// True when it has ended, after `milliseconds` at most.
    bool wait(int milliseconds) {
        pollfd watched{handle_, POLLIN, 0};
        poll(&watched, 1, handle_ >= 0 ? milliseconds : 1);  // an old kernel has no handles
        const pid_t found = waitpid(process_, &status_, WNOHANG);
        ended_ = found == process_ || (found < 0 && errno == ECHILD);  // reaped elsewhere: result.json has the outcome
        return ended_;
    }
    void end() { kill(process_, SIGKILL); }
    [[nodiscard]] int status() const { return status_; }

private:
    pid_t process_;
    int handle_;
    int status_ = 0;
    bool ended_ = false;
};

/// What the child has of Python's: signal handlers, and open files that others wait to see closed.
void leave_python() {
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const long most = sysconf(_SC_OPEN_MAX);
    if (syscall(SYS_close_range, 3U, ~0U, 0U) != 0)
        for (int file = 3; file < most; ++file) close(file);
}

Clock::time_point deadline(const ReplayOptions& options) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(most_seconds(options).value_or(1e9)));
}

ReplayOptions parse(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return ReplayOptions::parse(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

struct PendingReplay::State {
    explicit State(std::vector<std::string> words) : options(parse(std::move(words))) {}

    ReplayOptions options;
    SharedLine why;
    Child child{start_replay(options, {leave_python, [this](const char* line) { why.put(line); }})};
    Clock::time_point end = deadline(options);
};

PendingReplay::PendingReplay(std::vector<std::string> words) : state_(std::make_unique<State>(std::move(words))) {}

PendingReplay::~PendingReplay() = default;

bool PendingReplay::wait(int milliseconds) {
    if (!state_->child.wait(milliseconds)) {
        if (Clock::now() > state_->end) state_->child.end();
        return false;
    }
    if (child_end(state_->options, state_->child.status()) == ChildEnd::broken)
        throw std::runtime_error(state_->why.get().empty() ? "the replay ended without a result" : state_->why.get());
    return true;
}

}  // namespace hipscope
