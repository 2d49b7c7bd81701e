// Splits a dispatch over threads. Thread 0 drives the timed XCD; when there is one thread only, timing and
// functional execution take turns, so that workgroups which wait for each other always make progress.
#include "engine/dispatch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <deque>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>

#include "core/byte_count.hpp"
#include "core/memory_copy.hpp"
#include "engine/functional.hpp"
#include "engine/nearest_variable.hpp"
#include "engine/standstill.hpp"
#include "engine/stopped.hpp"
#include "engine/stray_access.hpp"
#include "sanitize/number_kinds.hpp"
#include "sanitize/sanitizer.hpp"

namespace hipscope {
namespace {

constexpr std::size_t kActiveGroups = 64;  // preempted workgroups a thread keeps before it returns to the oldest
constexpr std::uint64_t kTimedSlice = 200'000;
constexpr std::uint32_t kHeldSlice = 1024, kHeldRounds = 16;  // of turns with waves that are held: others wait for them
constexpr std::size_t kHeldBytes = 256U << 20U;  // of workgroups that have begun then, at which no more begin
constexpr std::uint64_t kInlineWaves = 16;  // smaller dispatches are not worth waking threads for

double cpu_ms() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

std::string hex(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

/// "4 bytes after the end of a block of 400 bytes", or "no live block is near".
std::string whereabouts(const Memory& memory, const CodeObject& object, std::uint64_t address) {
    const auto below = memory.at_or_below(address);
    if (!below) return "no block of device memory is near";
    const Allocation& block = *below;
    const std::uint64_t end = block.address + block.bytes;
    if (address >= end && address - end > Memory::wide_guard) return "no block of device memory is near";
    if (std::string told = beside_variable(object, block.address, address); !told.empty()) return told;
    const std::string size = "the end of a block of " + std::to_string(block.bytes) + " bytes";
    return address < end ? "it runs over " + size : std::to_string(address - end) + " bytes after " + size;
}

std::string describe(const Fault& fault, const Instruction& instruction, const PreparedLaunch& p, std::uint64_t group, const Memory& memory) {
    std::string where = " in workgroup (" + std::to_string(group % p.groups[0]) + ", " +
                        std::to_string(group / p.groups[0] % p.groups[1]) + ", " +
                        std::to_string(group / p.groups[0] / p.groups[1]) + ")";
    if (fault.lane >= 0) where += ", lane " + std::to_string(fault.lane);
    if (fault.kind == FaultKind::out_of_bounds) {
        const std::string own = outside_own_memory(stray_access(instruction, fault), p.lds_bytes, p.scratch_per_lane);
        return std::string("out-of-bounds ") + (fault.write ? "store" : "load") + " of " + byte_count(fault.bytes) + " " +
               (own.empty() ? "at " + hex(fault.address) + ", " + whereabouts(memory, *p.launch.object, fault.address) : own) + "," + where;
    }
    return (fault.message.empty() ? std::string(fault_name(fault.kind)) : fault.message) + where;
}

/// How far a launch had come at the program's deadline.
struct Progress {
    std::uint64_t ended = 0, all = 0;               // workgroups
    std::chrono::duration<double> ran{}, idle{};    // since the launch began, and since one was last seen to have ended
    std::uint64_t longest = 0;                      // instructions of each wave, in the workgroup whose waves executed most of those that run
    bool stands_still = false;                      // all waves that have begun and not ended go round in loops that change nothing
};

/// More instructions than waves that end have but for very few: 32 ms on a GPU at least, where each takes four cycles.
constexpr std::uint64_t kEndless = 1U << 24U;

/// Whether that is a runaway: it had half of the program's time, none of its workgroups ended for half of its own, and no wave gets on or
/// one goes on and on. Any other may well come to its end with more time: many workgroups that take turns all end late.
bool is_runaway(std::chrono::duration<double> limit, const Progress& p) {
    return p.ran >= limit / 2 && p.idle >= p.ran / 2 && (p.stands_still || p.longest >= kEndless);
}

/// "0.072 s", "110 s"
std::string in_seconds(std::chrono::duration<double> time) {
    char text[32];
    std::snprintf(text, sizeof text, time.count() < 10 ? "%.2g s" : "%.0f s", time.count());
    return text;
}

std::string too_late(bool runaway, const Progress& p) {
    const std::string ended = std::to_string(p.ended), all = std::to_string(p.all);
    if (runaway)
        return "runaway kernel: it still runs at the end of the program's time; no workgroup ended in the last " + in_seconds(p.idle) + " (" + ended +
               " of " + all + " had ended); if it should end, raise the limit (timeout_s, --timeout of emulate) or shrink the work; stopped";
    return "not finished within " + in_seconds(p.ran) + ", when the program's time was over: " + ended + " of " + all +
           " workgroups were done; raise the limit (timeout_s, --timeout of emulate) or shrink the work; stopped";
}

/// Results may depend on the order in which workgroups come: global atomics that return a value, exchange or round.
bool order_matters(const Launch& launch) {
    const auto depends = [](const Instruction& in) {
        if (in.unit != Unit::vmem_atomic) return false;
        const auto has = [&](std::string_view part) { return in.text.find(part) != std::string::npos; };
        return in.destinations > 0 || has("swap") || has("_f16") || has("_bf16") || has("_f32") || has("_f64");
    };
    return std::ranges::any_of(code_of(launch), depends);
}

/// What an instruction that was not timed costs on average, as a multiple of one that was timed: at each place it costs the
/// same, but loops that are longer elsewhere make its mix another. One that no timed wave reached costs its issue.
double cost_of_others(const TimedResult& result, const DispatchCounts& timed, const DispatchCounts& others) {
    constexpr double kIssueCycles = 4;
    double with = 0, with_hits = 0, without = 0, without_hits = 0;
    for (std::size_t i = 0; i < result.times.size(); ++i) {
        const InstructionTime& at = result.times[i];
        const auto hits = static_cast<double>(timed.executions[i].hits), other_hits = static_cast<double>(others.executions[i].hits);
        const auto cycles = static_cast<double>(std::accumulate(std::begin(at.stall), std::end(at.stall), at.issue));
        with += cycles;
        with_hits += hits;
        without += other_hits * (hits > 0 ? cycles / hits : kIssueCycles);
        without_hits += other_hits;
    }
    return with > 0 && without_hits > 0 ? without / without_hits / (with / with_hits) : 1;
}

}  // namespace

std::string_view fault_name(FaultKind kind) {
    switch (kind) {
        case FaultKind::none: return "none";
        case FaultKind::out_of_bounds: return "out_of_bounds";
        case FaultKind::unsupported: return "unsupported";
        case FaultKind::trap: return "trap";
        case FaultKind::misaligned: return "misaligned";
        case FaultKind::stack_overflow: return "stack_overflow";
        case FaultKind::assertion: return "assertion";
        case FaultKind::runaway: return "runaway";
    }
    return "other";
}

/// Passes every access on.
class TracingObserver {
public:
    static constexpr bool active = true;
    explicit TracingObserver(const std::function<void(const MemoryAccess&)>& observe) : observe_(observe) {}
    void accessed(std::uint32_t, MemoryAccess& access) {
        access.spell_out();
        observe_(access);
    }

private:
    const std::function<void(const MemoryAccess&)>& observe_;
};

class Engine::Run {
public:
    /// Profiled when one XCD is to be timed.
    Run(Engine& engine, const PreparedLaunch& launch, std::optional<std::uint64_t> timed_xcd)
        : engine_(engine),
          launch_(launch),
          profile_(timed_xcd.has_value()),
          any_order_(!order_matters(launch.launch)),
          alone_(profile_ && any_order_ && engine.settings_.timed_only && !launch.launch.cooperative && launch.services == nullptr),
          groups_(launch.group_count, profile_ ? static_cast<std::uint64_t>(engine.timing_->xcds) : 1, timed_xcd,
                  profile_ && any_order_ && !alone_, engine.settings_.seed, alone_),
          schedule_{.seed = engine.settings_.seed, .max_instructions = engine.settings_.max_instructions} {
        if (launch.launch.cooperative) max_active_ = std::numeric_limits<std::size_t>::max();
        if (!profile_) return;
        const Program& program = launch.launch.object->code->program;
        slots_.emplace(program);
        counts_ = std::make_unique<DispatchCounts>(program.instructions.size(), slots_->count);
    }

    DispatchResult run(bool code_is_cold) {
        const double cpu_begin = cpu_ms();
        // What is profiled, or run with a seed, must come out the same on any number of threads.
        const bool ordered = (profile_ || engine_.settings_.seed != 0) && !any_order_;
        const int threads = ordered || launch_.waves() < kInlineWaves ? 1 : engine_.pool_.size();
        open_host(threads);
        if (profile_) start_timing(code_is_cold);
        engine_.pool_.run(threads, [&](int index) { profile_ ? profiled(index, threads) : plain(index); });
        judge_late();
        if (launch_.services != nullptr) launch_.services->flush();
        DispatchResult result;
        note_end(result);
        if (profile_) {
            result.timed = simulator_->take_result(groups_.whole());
            take_counts(result);
            judge(result);
        }
        result.wall_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
        result.cpu_ms = cpu_ms() - cpu_begin;
        return result;
    }

    /// The XCD that is likely to take longer than the timed one.
    [[nodiscard]] std::optional<std::uint64_t> busier(const DispatchResult& result) const {
        return knows_others(result) ? groups_.work().busier_than(groups_.xcd(), pace(*result.timed)) : std::nullopt;
    }

    /// On this thread only.
    template <class Observer>
    DispatchResult alone(Observer observer) {
        open_host(1);
        Worker<Observer> worker(*this, std::move(observer), 0);
        while (worker.turn()) {}
        worker.look_at_rest();
        judge_late();
        if (launch_.services != nullptr) launch_.services->flush();
        DispatchResult result;
        note_end(result);
        return result;
    }

    DispatchResult held(const HeldOrder& order) {
        open_host(1);
        schedule_.wave_slice = kHeldSlice;
        schedule_.group_rounds = kHeldRounds;
        Worker<HoldingObserver> worker(*this, HoldingObserver(launch_.launch.object->code->program, order), 0);
        while (worker.held_turn()) {}
        worker.look_at_rest();
        judge_late();
        if (launch_.services != nullptr) launch_.services->flush();
        DispatchResult result;
        note_end(result);
        return result;
    }

private:
    /// Of all workgroups. Of a launch that was stopped they are extrapolated, where what ran is like the rest.
    void take_counts(DispatchResult& result) {
        DispatchCounts& untimed = *merge_.front();
        std::for_each(merge_.begin() + 1, merge_.end(), [&](const auto& part) { untimed.add(*part); });
        untimed.sum_up();
        counts_->sum_up();
        if (alone_ && result.timed->started > 0) counts_->scale(static_cast<double>(groups_.count()) / static_cast<double>(result.timed->started));
        const bool stopped = result.fault && result.fault->kind == kUnfinished;
        if (stopped && extrapolate(groups_, launch_.launch.object->code->program, *result.timed, untimed, *counts_)) {
            result.stopped_after = stopped_after_;
            result.instructions = static_cast<std::uint64_t>(groups_.whole().each() * static_cast<double>(groups_.count()));
        } else {
            cost_of_others_ = cost_of_others(*result.timed, *counts_, untimed);
            counts_->add(untimed);
        }
        result.counts = std::move(counts_);
    }

    void note_end(DispatchResult& result) {
        if (fault_) result.fault = std::move(fault_->second);
        result.instructions = groups_.instructions();
        if (launch_.strays == nullptr) return;
        for (const auto& [pc, stray] : launch_.strays->entries()) result.left_out.push_back(told_of(stray.group, stray.fault, pc));
    }

    /// One thread's share of the workgroups that are not timed.
    template <class Observer>
    class Worker {
    public:
        Worker(Run& run, Observer observer, int thread) : run_(run), observer_(std::move(observer)), host_(run.launch_.services, thread) {
            if (run.launch_.services != nullptr && thread > 0)
                kernarg_ = run.launch_.services->kernarg_for(thread, run.launch_);
        }

        /// Run one workgroup for its turns. False when there is nothing left to do.
        bool turn() {
            if (run_.stop_.load(std::memory_order_relaxed)) return false;
            if (run_.late()) {
                const Workgroup* group = active_.empty() ? nullptr : active_.front().get();
                run_.stop_late(group == nullptr ? 0 : group->number, group == nullptr ? run_.launch_.entry : group->waves[0].pc);
                return false;
            }
            if (active_.size() < run_.max_active_)
                if (const auto number = run_.groups_.next_functional()) {
                    auto group = idle_group();
                    group->kernarg = kernarg_;
                    group->start(run_.launch_, *number);
                    if constexpr (requires { observer_.started(*group); }) observer_.started(*group);
                    advance(std::move(group));
                    return true;
                }
            if (active_.empty()) return false;
            auto oldest = std::move(active_.front());
            active_.pop_front();
            advance(std::move(oldest));
            return true;
        }
        Observer& observer() { return observer_; }

        /// The same with waves that are held. All workgroups begin first; those that could go on have a turn each before one
        /// that is held goes on.
        bool held_turn() {
            if (run_.stop_.load(std::memory_order_relaxed)) return false;
            if (run_.late()) {
                const Workgroup* group = active_.empty() ? held_.empty() ? nullptr : held_.back().get() : active_.front().get();
                run_.stop_late(group == nullptr ? 0 : group->number, group == nullptr ? run_.launch_.entry : group->waves[0].pc);
                return false;
            }
            if (held_bytes_ < kHeldBytes)
                if (const auto number = run_.groups_.next_functional()) {
                    auto group = idle_group();
                    group->start(run_.launch_, *number);
                    observer_.started(*group);
                    held_bytes_ += group->bytes();
                    advance(std::move(group));
                    return true;
                }
            if (held_.empty() || turns_ < active_.size()) {
                if (active_.empty()) return false;
                auto oldest = std::move(active_.front());
                active_.pop_front();
                ++turns_;
                advance(std::move(oldest));
                return true;
            }
            turns_ = 0;
            const auto at = held_.begin() + static_cast<std::ptrdiff_t>(observer_.next_of(held_.size()));
            auto next = std::move(*at);
            held_.erase(at);
            observer_.release(*next);
            advance(std::move(next));
            return true;
        }

        /// At the deadline: how far the workgroups of this thread have come.
        void look_at_rest() {
            if (!run_.is_late_) return;
            for (const auto& group : active_) run_.note_rest({group->executed / group->waves.size(), goes_round(*group)});
            for (const auto& group : held_) run_.note_rest({group->executed / group->waves.size(), false});
        }

    private:
        std::unique_ptr<Workgroup> idle_group() {
            if (idle_.empty()) {
                auto made = std::make_unique<Workgroup>(run_.launch_, run_.engine_.memory_);
                for (Wave& wave : made->waves) wave.observed = !std::is_same_v<Observer, NoObserver>;
                return made;
            }
            auto group = std::move(idle_.back());
            idle_.pop_back();
            return group;
        }
        void advance(std::unique_ptr<Workgroup> group) {
            std::size_t faulted = 0;
            switch (run_group(*group, run_.schedule_, observer_, host_, faulted)) {
                case GroupEnd::done:
                    run_.groups_.end_one(group->number, group->executed);
                    if constexpr (requires { observer_.ended(*group); }) {
                        observer_.ended(*group);
                        held_bytes_ -= group->bytes();
                        turns_ = 0;  // who waits for it may go on
                    }
                    idle_.push_back(std::move(group));
                    return;
                case GroupEnd::preempted:
                    if constexpr (requires { observer_.stuck(*group); })
                        if (observer_.stuck(*group)) {
                            held_.push_back(std::move(group));
                            return;
                        }
                    active_.push_back(std::move(group));
                    return;
                case GroupEnd::fault: run_.report(group->number, group->waves[faulted].fault, group->waves[faulted].pc); return;
            }
        }

        Run& run_;
        Observer observer_;
        HostLine host_;
        std::uint64_t kernarg_ = 0;  // of this thread's own
        std::deque<std::unique_ptr<Workgroup>> active_;
        std::vector<std::unique_ptr<Workgroup>> idle_;
        std::vector<std::unique_ptr<Workgroup>> held_;  // of which no wave goes on by itself; the last one at the end
        std::size_t held_bytes_ = 0;                    // of workgroups that have begun
        std::size_t turns_ = 0;                         // of active workgroups since one that was held went on
    };

    void plain(int thread) {
        Worker<NoObserver> worker(*this, NoObserver{}, thread);
        while (worker.turn()) {}
        worker.look_at_rest();
    }

    /// Let waves reach the host. A wave holds one packet at most, so there are enough when each resident one has its own.
    void open_host(int threads) {
        if (launch_.services == nullptr) return;
        const std::uint64_t timed = profile_ ? static_cast<std::uint64_t>(engine_.timing_->cus_per_xcd()) * static_cast<std::uint64_t>(engine_.timing_->simds_per_cu * engine_.timing_->max_waves_per_simd) : 0;
        launch_.services->realtime = launch_.realtime;
        launch_.services->open(threads, timed + std::min<std::uint64_t>(max_active_, launch_.group_count) * launch_.waves_per_group, launch_);
        launch_.services->put_addresses(0, launch_.kernarg_address, launch_.host_arguments);
    }

    void start_timing(bool code_is_cold) {
        TimingLimits limits;
        limits.max_instructions = engine_.settings_.max_timed_instructions;
        limits.runaway = engine_.settings_.max_instructions;
        const TimedLaunch timed{*engine_.timing_, launch_, engine_.memory_, groups_, *slots_,
                                engine_.infos(launch_.launch.object->code), *engine_.history_, engine_.storage_, engine_.written_since_launch_of(groups_.xcd()),
                                engine_.settings_.l2_lines ? &*engine_.settings_.l2_lines : nullptr, code_is_cold};
        simulator_ = std::make_unique<XcdSimulator>(timed, *counts_, limits);
        engine_.written_->clear();
        engine_.l2_of_ = groups_.xcd();
    }

    void profiled(int index, int threads) {
        DispatchCounts counts(launch_.launch.object->code->program.instructions.size(), slots_->count);
        {
            Worker<CountingObserver> worker(*this, CountingObserver(*slots_, counts, engine_.timing_->lds_rows, launch_.kinds, engine_.history_.get(), engine_.written_.get()), index);
            if (index == 0) {
                while (time_a_slice())
                    if (threads == 1) worker.turn();
                closed_ = true;
                closed_.notify_all();
            }
            do {
                while (worker.turn()) {}
                closed_.wait(false);  // all threads take the workgroups without timing
            } while (worker.turn());
            worker.observer().add_up();
            worker.look_at_rest();
        }
        const std::lock_guard lock(mutex_);
        merge_.push_back(std::make_unique<DispatchCounts>(std::move(counts)));
    }

    /// False when the timed XCD is done.
    bool time_a_slice() {
        if (stop_.load(std::memory_order_relaxed)) return false;
        if (late()) {
            stop_late(0, launch_.entry);
            return false;
        }
        if (simulator_->run(kTimedSlice)) {
            if (!groups_.timed_open() && !closed_.exchange(true)) closed_.notify_all();
            return true;
        }
        if (const auto& fault = simulator_->fault()) report(fault->group, fault->fault, fault->pc);
        groups_.close_timed();  // a workgroup that fits on no modelled CU still has to run
        return false;
    }

    /// Whether the deadline has passed; also notes when workgroups end.
    [[nodiscard]] bool late() {
        const auto& deadline = engine_.settings_.deadline;
        if (!deadline) return false;
        const auto now = std::chrono::steady_clock::now();
        if (const std::uint64_t ended = groups_.ended(); ended != seen_ended_.load(std::memory_order_relaxed)) {
            seen_ended_.store(ended, std::memory_order_relaxed);
            last_end_.store(now, std::memory_order_relaxed);
        }
        return now > *deadline;
    }
    /// The deadline has passed: where, and how far the launch had come. What that says is judged when all threads have stopped.
    void stop_late(std::uint64_t group, std::uint32_t pc) {
        const std::lock_guard lock(mutex_);
        if (late_) return;
        late_.emplace(Late{.group = group, .pc = pc, .progress = {.ended = groups_.ended(), .all = groups_.count()}});
        const auto now = std::chrono::steady_clock::now();
        late_->progress.ran = now - begin_;
        late_->progress.idle = now - last_end_.load(std::memory_order_relaxed);
        stopped_after_ = late_->progress.ended;
        is_late_ = true;
        stop_ = true;
    }
    void note_rest(const Rest& rest) {
        const std::lock_guard lock(mutex_);
        late_->progress.longest = std::max(late_->progress.longest, rest.longest);
        ++(rest.goes_round ? late_->going_round : late_->getting_on);
    }
    void judge_late() {
        if (!late_) return;
        if (simulator_)
            for (const Rest& rest : simulator_->rest()) note_rest(rest);
        late_->progress.stands_still = late_->getting_on == 0 && late_->going_round > 0;
        const bool runaway = is_runaway(engine_.settings_.time_limit, late_->progress);
        Fault fault;
        fault.kind = FaultKind::runaway;
        fault.message = too_late(runaway, late_->progress);
        report(late_->group, fault, late_->pc, runaway ? fault_name(fault.kind) : kUnfinished);
    }

    [[nodiscard]] DispatchFault told_of(std::uint64_t group, const Fault& fault, std::uint32_t pc) const {
        const Instruction& instruction = launch_.launch.object->code->program.instructions[pc];
        return {std::string(fault_name(fault.kind)), describe(fault, instruction, launch_, group, engine_.memory_), instruction.address, instruction.text};
    }

    /// The fault of the lowest workgroup is the one that is reported.
    void report(std::uint64_t group, const Fault& fault, std::uint32_t pc, std::string_view kind = {}) {
        stop_ = true;
        DispatchFault told = told_of(group, fault, pc);
        if (!kind.empty()) told.kind = kind;
        if (fault.kind == FaultKind::trap && launch_.services != nullptr && launch_.services->asserted()) {
            told.kind = fault_name(FaultKind::assertion);
            told.message = "a device-side assertion failed: " + told.message;
        }
        const std::lock_guard lock(mutex_);
        if (!fault_ || group < fault_->first) fault_.emplace(group, std::move(told));
    }

    /// Whether it is known what the XCDs execute that are not timed: not where that depends on the order in which workgroups come.
    [[nodiscard]] bool knows_others(const DispatchResult& result) const { return any_order_ && !alone_ && !result.fault; }

    [[nodiscard]] XcdPace pace(const TimedResult& t) const {
        const TimingConstants& c = *engine_.timing_;
        const double each = t.instructions > 0 ? t.wave_cycles / static_cast<double>(t.instructions) : 1;
        const double cus = c.cus_per_xcd();
        return {.cus = cus, .resident_waves = std::max(1.0, t.occupancy * c.simds_per_cu * cus),
                .waves_per_group = static_cast<double>(launch_.waves_per_group), .cycles_each = each};
    }

    /// Of the slowest XCD.
    [[nodiscard]] double slowest_cycles(const DispatchResult& result) const {
        const TimedResult& t = *result.timed;
        return knows_others(result) ? groups_.work().slowest(groups_.xcd(), t.cycles, pace(t), cost_of_others_) : t.cycles;
    }

    /// Kernel time: dispatch cost, then the slowest of the slowest XCD's time and the busiest atomic line.
    void judge(DispatchResult& result) const {
        const TimingConstants& c = *engine_.timing_;
        const TimedResult& t = *result.timed;
        const double scale = t.covered > 0 ? 1 / t.covered : 1;
        const double hot = t.hottest_atomic_cycles * scale;
        const double cycles = std::max(slowest_cycles(result), hot);
        const double per_cycle = 1e3 / c.clock_mhz;  // ns
        result.time_ns = std::max(c.launch_floor_ns, c.dispatch_ns + cycles * per_cycle);
        const double xcds = static_cast<double>(std::min<std::uint64_t>(static_cast<unsigned>(c.xcds), launch_.group_count));
        const double active = knows_others(result) ? groups_.work().all_for_each_of(groups_.xcd()) : xcds;
        const double seconds = cycles * per_cycle * 1e-9;
        const double hbm = seconds > 0 ? (t.l2.hbm_read_bytes / c.hbm_read_bytes_per_s + t.l2.hbm_write_bytes / c.hbm_write_bytes_per_s) * scale * active / seconds : 0;
        const double mall = seconds > 0 ? t.l2.mall_bytes / c.mall_bytes_per_s * scale * active / seconds : 0;
        const double cus = c.cus_per_xcd();
        const double valu = t.valu_busy * scale / (cus * c.simds_per_cu * cycles);
        const double lds = t.lds_busy * scale / (cus * cycles);
        const double vmem = t.vmem_busy * scale / (cus * cycles);
        const double worst = std::max({hbm, mall, valu, lds, vmem, hot / cycles});
        if (result.time_ns <= c.launch_floor_ns * 1.1) result.bound_by = "launch";
        else if (worst < 0.5) result.bound_by = "latency";
        else if (worst == hot / cycles) result.bound_by = "atomic";
        else if (worst == hbm) result.bound_by = "hbm";
        else if (worst == mall) result.bound_by = "mall";
        else if (worst == valu) result.bound_by = "valu";
        else if (worst == lds) result.bound_by = "lds";
        else result.bound_by = "vmem";
        const double shortest = std::max(c.launch_floor_ns, c.dispatch_ns + round_trip_cycles(c, t) * per_cycle);
        result.busy = {{"launch", c.launch_floor_ns / result.time_ns}, {"round_trip", std::min(1.0, shortest / result.time_ns)}};
        if (cycles <= 0) return;
        const double part = cycles * per_cycle / result.time_ns;
        const double l2_cycles = static_cast<double>(t.l2.read_hits + t.l2.read_misses) * (1 << kLineBits) / c.l2_read_bytes_per_cycle +
                                 static_cast<double>(t.l2.write_hits + t.l2.write_misses) * (1 << kSectorBits) / c.l2_write_bytes_per_cycle;
        const double l2 = l2_cycles * scale / (c.l2_channels * cycles);
        const std::pair<std::string_view, double> units[] = {{"hbm", hbm}, {"mall", mall}, {"l2", l2}, {"lds", lds}, {"valu", valu}, {"vmem", vmem}, {"atomic", hot / cycles}};
        for (const auto& [unit, busy] : units) result.busy.emplace_back(unit, busy * part);
    }

    /// What a launch with as many waves takes at least when each of them reads its arguments, waits once for what lies where
    /// this one's data do, and stores: cycles. Most launches of some microseconds are little more than that.
    [[nodiscard]] double round_trip_cycles(const TimingConstants& c, const TimedResult& t) const {
        const std::uint64_t groups = (launch_.group_count + static_cast<unsigned>(c.xcds) - 1) / static_cast<unsigned>(c.xcds);
        double cycles = c.workgroup_launch_cycles + static_cast<double>(groups * launch_.waves_per_group) * c.wave_launch_cycles;
        if (t.l2.scalar_reads > 0) cycles += c.scalar_l2_cycles;
        if (t.l2.read_hits + t.l2.read_misses > t.l2.scalar_reads)
            cycles += t.l2.hbm_read_bytes > 0 ? c.memory_latency : t.l2.mall_bytes > 0 ? c.mall_latency : c.l2_latency;
        if (t.l2.write_hits + t.l2.write_misses > 0) cycles += c.store_latency;
        return cycles;
    }

    Engine& engine_;
    const PreparedLaunch& launch_;
    bool profile_;
    bool any_order_;  // in which workgroups come: it changes no result, nor what they execute
    bool alone_;      // only the timed XCD's workgroups run
    GroupSource groups_;
    Schedule schedule_;
    std::size_t max_active_ = kActiveGroups;
    alignas(64) std::atomic<bool> stop_{false};  // behind the cache line that hands out workgroups
    std::atomic<bool> closed_{false};  // no workgroup will be timed any more
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::uint64_t stopped_after_ = 0;  // workgroups, by the deadline
    struct Late {
        std::uint64_t group;
        std::uint32_t pc;
        Progress progress;
        std::uint64_t going_round = 0, getting_on = 0;  // of what had begun and not ended
    };
    std::optional<Late> late_;
    std::atomic<bool> is_late_{false};  // `late_` is set; the threads stop after that
    std::atomic<std::uint64_t> seen_ended_{0};  // workgroups, when `late` looked last
    std::atomic<std::chrono::steady_clock::time_point> last_end_{begin_};
    std::mutex mutex_;
    std::optional<std::pair<std::uint64_t, DispatchFault>> fault_;
    std::optional<MemorySlots> slots_;
    std::unique_ptr<DispatchCounts> counts_;
    double cost_of_others_ = 1;  // of an instruction that was not timed, on average, as a multiple of one that was
    std::vector<std::unique_ptr<DispatchCounts>> merge_;
    std::unique_ptr<XcdSimulator> simulator_;
};

Engine::Engine(Memory& memory, const EngineSettings& settings, std::optional<TimingConstants> timing)
    : memory_(memory), settings_(settings), timing_(timing), pool_(settings.threads) {
    if (!timing_) return;
    history_ = std::make_unique<MallHistory>(timing_->mall_bytes, timing_->mall_ways);
    written_ = std::make_unique<WrittenLines>();
}

DispatchResult Engine::run(const PreparedLaunch& launch, bool profile) {
    const bool cold = code_is_cold(launch);
    if (!profile || !can_profile()) {
        l2_of_.reset();  // what it reads and writes is not seen
        return Run(*this, launch, std::nullopt).run(cold);
    }
    DispatchResult result = time_busiest(launch, cold);
    history_->commit();
    return result;
}

/// Which XCD takes longest is known when a launch has ended: that one is timed in the next launch with as many workgroups, and
/// the launch itself is run once more where it may be. Launches of kernels whose XCDs were even so far are not prepared for that.
DispatchResult Engine::time_busiest(const PreparedLaunch& launch, bool cold) {
    const auto [known, first] = timed_xcds_.try_emplace({launch.launch.object->code, launch.launch.kernel->entry, launch.group_count});
    TimedXcd& of_kernel = known->second;
    std::optional<MemoryCopy> before;
    if ((first || of_kernel.uneven) && may_run_twice(launch)) before = MemoryCopy::of(memory_);
    Run run(*this, launch, of_kernel.number);
    DispatchResult result = run.run(cold);
    const auto busier = run.busier(result);
    if (!busier) return result;
    of_kernel = {.number = *busier, .uneven = true};
    if (!before || !has_time_for(result.wall_ms)) return result;
    before->put_back();  // what this one uses of the MALL, the other run marked as well
    DispatchResult again = Run(*this, launch, *busier).run(cold);
    DispatchResult& slower = again.timed && again.timed->cycles < result.timed->cycles ? result : again;
    slower.wall_ms = result.wall_ms + again.wall_ms;
    slower.cpu_ms = result.cpu_ms + again.cpu_ms;
    return std::move(slower);
}

/// Whether the program's deadline leaves twice that: a launch that is stopped in its second run would be left half done.
bool Engine::has_time_for(double wall_ms) const {
    const std::chrono::duration<double, std::milli> twice(2 * wall_ms);
    return !settings_.deadline || std::chrono::steady_clock::now() + twice < *settings_.deadline;
}

/// Nothing but device memory has a part in it, and of that there is not too much to be kept.
bool Engine::may_run_twice(const PreparedLaunch& launch) const {
    constexpr std::uint64_t kKept = 64ULL << 20U;
    return launch.services == nullptr && launch.group_count > 1 && timing_->xcds > 1 && memory_.in_use() <= kKept && !memory_.shared_with_host();
}

bool Engine::code_is_cold(const PreparedLaunch& launch) {
    const bool first = launched_.emplace(launch.launch.object->code, launch.launch.kernel->entry).second;
    return first && !settings_.code_in_caches;
}

DispatchResult Engine::trace(const PreparedLaunch& launch, const std::function<void(const MemoryAccess&)>& observe) {
    return Run(*this, launch, std::nullopt).alone(TracingObserver(observe));
}

DispatchResult Engine::trace(const PreparedLaunch& launch, sanitize::NumberKinds& kinds, const std::function<void(const MemoryAccess&)>& observe) {
    return Run(*this, launch, std::nullopt).alone(sanitize::KindObserver(kinds, observe));
}

const std::vector<InstructionInfo>& Engine::infos(const std::shared_ptr<Disassembly>& code) {
    const auto [entry, added] = infos_.try_emplace(code);  // keeps the code alive, so that its address stays its own
    if (added) entry->second = instruction_infos(code->program, *timing_);
    return entry->second;
}

DispatchResult Engine::check(const PreparedLaunch& launch, sanitize::Sanitizer& sanitizer, const std::function<void(const MemoryAccess&)>& observe) {
    return Run(*this, launch, std::nullopt).alone(sanitize::SanitizeObserver(sanitizer, observe));
}

DispatchResult Engine::held(const PreparedLaunch& launch, const HeldOrder& order) {
    return Run(*this, launch, std::nullopt).held(order);
}

/// The L2 that the model holds is that of one XCD. Memory that the host shares is written without notice.
const WrittenLines* Engine::written_since_launch_of(std::uint64_t xcd) const {
    return timing_->l2_kept_lines != 0 && l2_of_ == xcd && !memory_.shared_with_host() ? written_.get() : nullptr;
}

std::optional<L2Lines> Engine::l2_lines() {
    const WrittenLines* written = timing_ && l2_of_ ? written_since_launch_of(*l2_of_) : nullptr;
    if (written == nullptr) return std::nullopt;
    return storage_.l2_lines(*timing_, *written);
}

void Engine::touched(std::uint64_t address, std::uint64_t bytes, bool written) {
    if (!history_) return;
    if (written) written_->mark_range(address, bytes);
    history_->mark_range(address, bytes);
    history_->commit();
}

}  // namespace hipscope
