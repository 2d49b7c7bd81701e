// Forks the replays and waits for them.
#include "capture/replay_batch.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/meta.hpp"
#include "capture/replay_child.hpp"
#include "capture/replay_dispatch.hpp"
#include "engine/json_value.hpp"

namespace hipscope {
namespace {

using Clock = std::chrono::steady_clock;

class Batch {
public:
    Batch(std::vector<std::string> common, std::size_t jobs, bool stop, const msgpack::Value& groups)
        : common_(std::move(common)), jobs_(jobs), stop_(stop), groups_(groups), next_(groups.items.size()) {
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, &unblocked_);
    }

    int run() {
        while (!children_.empty() || may_begin()) {
            while (children_.size() < jobs_ && may_begin()) start(begun_++);
            if (!children_.empty()) wait();
        }
        return status_;
    }

private:
    struct Child {
        std::size_t group = 0;
        ReplayOptions options;
        Clock::time_point deadline;
    };

    [[nodiscard]] bool may_begin() const { return begun_ < groups_.items.size() && status_ == 0 && !(stop_ && failed_); }

    /// Start the next replay of a group, if there is one.
    void start(std::size_t group) {
        const auto& replays = groups_.items[group].items;
        if (next_[group] >= replays.size()) return;
        std::vector<std::string> words = common_;
        for (const msgpack::Value& word : replays[next_[group]++].items) words.push_back(word.text);
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        Child child{group, ReplayOptions::parse(static_cast<int>(argv.size()), argv.data()), Clock::time_point::max()};
        if (const auto seconds = most_seconds(child.options))
            child.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
        check(child.options.dispatch);
        if (prepared_.insert(child.options.code_object).second) prepare_code(child.options);
        const pid_t process = start_replay(child.options, {[this] { sigprocmask(SIG_SETMASK, &unblocked_, nullptr); },
                                                           [](const char* why) { std::fprintf(stderr, "hipscope-replay: %s\n", why); }});
        children_.emplace(process, std::move(child));
    }

    /// Look through the captured files here, and unpack them, so that no child has to.
    static void check(const std::string& dispatch) {
        try {
            Checksums(dispatch).check_buffers();
        } catch (const std::exception&) {
            return;  // the child finds the same and says so
        }
    }

    void wait() {
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        const timespec second{1, 0};
        sigtimedwait(&child, nullptr, &second);
        int how = 0;
        for (pid_t process = waitpid(-1, &how, WNOHANG); process > 0; process = waitpid(-1, &how, WNOHANG)) ended(process, how);
        for (const auto& [process, c] : children_)
            if (Clock::now() > c.deadline) kill(process, SIGKILL);
    }

    void ended(pid_t process, int how) {
        const auto found = children_.find(process);
        if (found == children_.end()) return;
        const Child child = std::move(found->second);
        children_.erase(found);
        const ChildEnd end = child_end(child.options, how);
        if (end == ChildEnd::broken) status_ = static_cast<int>(end);
        if (end != ChildEnd::ok) failed_ = failed_ || child.options.sanitize.empty();
        else if (status_ == 0) start(child.group);
    }

    std::vector<std::string> common_;
    std::size_t jobs_;
    bool stop_;
    const msgpack::Value& groups_;
    std::vector<std::size_t> next_;  // by group: how many of its replays have begun
    std::set<std::string> prepared_;  // code objects
    std::size_t begun_ = 0;
    std::map<pid_t, Child> children_;
    bool failed_ = false;
    int status_ = 0;
    sigset_t unblocked_{};
};

}  // namespace

int replay_batch(int argc, char** argv) {
    std::vector<std::string> common{"hipscope-replay"};
    std::size_t jobs = 1;
    bool stop = false;
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--stop") stop = true;
        else if (word == "--jobs" && i + 1 < argc) jobs = std::max<std::size_t>(1, std::strtoul(argv[++i], nullptr, 10));
        else common.push_back(word);
    }
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const msgpack::Value groups = parse_json(text);
    return Batch(std::move(common), jobs, stop, groups).run();
}

}  // namespace hipscope
