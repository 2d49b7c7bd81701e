// A few threads that all run one task at a time; the caller takes part.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/processes.hpp"

namespace hipscope {

class ThreadPool {
public:
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    /// 1 in a child that fork() made once there were threads: they are its parent's.
    [[nodiscard]] int size() const { return alone() ? 1 : size_; }
    /// Run `task(i)` for i in [0, workers) at the same time, i = 0 on the calling thread; returns when all are done.
    void run(int workers, const std::function<void(int)>& task);

private:
    void work(int index);
    [[nodiscard]] bool alone() const { return !threads_.empty() && generation_of_threads_ != fork_generation(); }

    const int size_;
    std::vector<std::thread> threads_;  // made when first needed: most processes that load the library launch nothing
    int generation_of_threads_ = 0;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(int)>* task_ = nullptr;
    int workers_ = 0, running_ = 0;
    std::uint64_t generation_ = 0;
    bool stop_ = false;
};

}  // namespace hipscope
