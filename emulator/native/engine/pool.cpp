// Thread pool.
#include "engine/pool.hpp"

#include <csignal>

namespace hipscope {

ThreadPool::ThreadPool(int threads) {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
}

void ThreadPool::run(int workers, const std::function<void(int)>& task) {
    if (workers > 1 && !threads_.empty()) {
        const std::lock_guard lock(mutex_);
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
