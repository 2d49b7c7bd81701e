// Thread pool.
#include "engine/pool.hpp"

#include <algorithm>
#include <csignal>

namespace hipscope {

ThreadPool::ThreadPool(int threads) : size_(std::max(1, threads)) {}

ThreadPool::~ThreadPool() {
    if (alone()) {
        for (std::thread& t : threads_) t.detach();
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
}

void ThreadPool::run(int workers, const std::function<void(int)>& task) {
    if (workers > 1 && size() > 1) {
        const std::lock_guard lock(mutex_);
        if (threads_.empty()) generation_of_threads_ = fork_generation();
        while (static_cast<int>(threads_.size()) + 1 < size_)
            threads_.emplace_back([this, index = static_cast<int>(threads_.size()) + 1] { work(index); });
        task_ = &task;
        workers_ = std::min(workers, size());
        running_ = workers_ - 1;
        ++generation_;
        wake_.notify_all();
    }
    task(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
}

void ThreadPool::work(int index) {
    sigset_t all;  // signals belong to the program's own threads
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);  // a fault is its own thread's in any case, and capture/touched.cpp waits for some
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
        if (stop_) return;
        seen = generation_;
        if (index >= workers_) continue;
        const auto* task = task_;
        lock.unlock();
        (*task)(index);
        lock.lock();
        if (--running_ == 0) done_.notify_all();
    }
}

}  // namespace hipscope
