// Loads, stores and atomics through L1, L2, MALL and HBM.
#include "timing/memory_path.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace hipscope {
namespace {

constexpr int kLine = 1 << kLineBits;
constexpr int kHalf = 1 << kSectorBits;
constexpr std::uint64_t kSeenBytes = Memory::reserved >> kLineBits >> 3U;

constexpr unsigned kParts = 8;  // of a cycle, as a power of two

int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// How many times as long as a full one a write request takes that fills a part of its 32-byte sectors only: what is left of a
/// sector must be kept.
double partial_write_factor(const Touched& access, double most) {
    int sectors = 0;
    for (int i = 0; i < access.lines; ++i) sectors += std::popcount(access.parts[i]);
    const int bytes = access.lanes * access.bytes;
    return sectors == 0 ? 1 : most - (most - 1) * std::min(1.0, bytes / (32.0 * sectors));
}

}  // namespace

XcdMemory::XcdMemory(const TimingConstants& constants, MallHistory& history, Tags& l2, std::int64_t& l2_clock, int active_xcds, const std::int64_t& now)
    : c_(constants),
      history_(history),
      l2_(l2),
      l2_clock_(l2_clock),
      l2_begin_(l2_clock),
      channels_(static_cast<std::size_t>(constants.l2_channels), Server(now)),
      atomic_channels_(static_cast<std::size_t>(constants.atomic_channels), Server(now)),
      mall_(now),
      hbm_(now),
      active_xcds_(active_xcds),
      l1_pieces_(static_cast<unsigned>(kLine / constants.l1_line_bytes)) {
    const double cycles_per_s = c_.clock_mhz * 1e6;
    // The device's MALL and HBM bandwidth is shared by the XCDs that have work.
    const double share = cycles_per_s * active_xcds;
    l2_read_cost_ = kLine / c_.l2_read_bytes_per_cycle;
    l1_fill_cost_ = c_.l1_line_bytes / c_.l2_read_bytes_per_cycle;
    l2_write_cost_ = kHalf / c_.l2_write_bytes_per_cycle;
    mall_cost_ = kLine * share / c_.mall_bytes_per_s;
    hbm_read_cost_ = kLine * share / c_.hbm_read_bytes_per_s;
    hbm_write_cost_ = kLine * share / c_.hbm_write_bytes_per_s;
    void* bits = mmap(nullptr, kSeenBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bits == MAP_FAILED) throw std::runtime_error("cannot reserve the cache model's line table");
    seen_ = static_cast<std::uint8_t*>(bits);
}

XcdMemory::~XcdMemory() { munmap(seen_, kSeenBytes); }

Server& XcdMemory::channel(std::uint64_t line) {
    // Channels interleave at 256 bytes; the fold spreads power-of-two strides.
    const std::uint64_t unit = line >> 1U;
    return channels_[(unit ^ (unit >> 4U) ^ (unit >> 9U) ^ (unit >> 14U)) % channels_.size()];
}

bool XcdMemory::seen(std::uint64_t line) {
    const std::uint64_t index = line - (Memory::base >> kLineBits);
    if (index >> 3U >= kSeenBytes) return true;  // registered host memory: not modelled further
    std::uint8_t& bits = seen_[index >> 3U];
    const auto bit = static_cast<std::uint8_t>(1U << (index & 7U));
    if ((bits & bit) != 0) return true;
    bits |= bit;
    history_.mark(line);
    return false;
}

std::int64_t XcdMemory::from_memory(std::uint64_t line, std::int64_t t) {
    const std::int64_t served = mall_.serve(t, mall_cost_);
    counts_.mall_bytes += kLine;
    const bool again = seen(line);
    if (c_.mall_bytes >= kLine && (again || history_.resident(line))) return served + c_.mall_latency;
    counts_.hbm_read_bytes += kLine;
    return hbm_.serve(served, hbm_read_cost_) + c_.memory_latency;
}

/// A modified line leaves the L2: each half that was written is a request.
void XcdMemory::to_memory(const Tags::Line& line, std::int64_t t) {
    int halves = 0;
    for (const unsigned parts : {line.dirty() & 3U, line.dirty() & 12U}) {
        if (parts == 0) continue;
        ++halves;
        ++(parts == 3U || parts == 12U ? counts_.fabric_writes_64 : counts_.fabric_writes_32);
    }
    counts_.mall_bytes += kHalf * halves;
    std::int64_t done = mall_.serve(t, mall_cost_ / 2 * halves);
    if (!history_.resident(line.number())) {  // else the MALL keeps it
        counts_.hbm_write_bytes += kHalf * halves;
        done = hbm_.serve(done, hbm_write_cost_ / 2 * halves);
    }
    drained_ = std::max(drained_, done);
}

void XcdMemory::write_back(std::int64_t t) {
    l2_.clean([&](const Tags::Line& line) {
        ++counts_.written_back_lines;
        to_memory(line, t);
    });
}

Tags::Line& XcdMemory::l2_insert(const Tags::Place& place, std::int64_t filled, std::int64_t t) {
    Tags::Line evicted{};
    Tags::Line& entry = l2_.insert(place, evicted);
    entry.filled = l2_begin_ + filled;
    l2_clock_ = std::max(l2_clock_, entry.filled);
    if (evicted.dirty() != 0) {
        ++counts_.evicted_lines;
        to_memory(evicted, t);
    }
    return entry;
}

std::int64_t XcdMemory::l2_read(std::uint64_t line, double cost, std::int64_t t, Found& found, bool streams) {
    const std::int64_t served = channel(line).serve(t, cost);
    const Tags::Place place = l2_.place_of(line);
    std::int64_t arrival;
    if (const Tags::Line* hit = l2_.find(place)) {
        found = Found::l2;
        arrival = std::max(served + c_.l2_latency, hit->filled - l2_begin_);
    } else {
        found = Found::memory;
        arrival = from_memory(line, served);
        counts_.fabric_read_cycles += static_cast<double>(arrival - served);
        l2_insert(place, arrival, served);
    }
    if (streams) l2_.give_up(place);
    return arrival;
}

void XcdMemory::l2_write(std::uint64_t line, unsigned parts, std::int64_t t, bool streams) {
    const Tags::Place place = l2_.place_of(line);
    Tags::Line* entry = l2_.find(place);
    if (entry == nullptr) {
        entry = &l2_insert(place, t, t);
        seen(line);
    }
    l2_.modify(place, *entry, parts & 0xfU);
    if (streams) l2_.give_up(place);
}

std::int64_t XcdMemory::read_line(std::uint64_t line, std::int64_t t) {
    Found found{};
    const std::int64_t arrival = l2_read(line, l2_read_cost_, t, found);
    ++counts_.scalar_reads;
    ++(found == Found::l2 ? counts_.read_hits : counts_.read_misses);
    if (found == Found::memory) ++counts_.fabric_reads_64;
    return arrival;
}

/// The lines of the L1 that hold the touched parts of a line of the L2. Those that are not there are asked for in one request.
XcdMemory::Arrival XcdMemory::look_up(CuMemory& cu, std::uint64_t line, unsigned parts, CachePolicy policy, std::uint32_t pc, std::int64_t t,
                                      CacheCounts& counts) {
    Arrival result{true, Found::l2, t + c_.l1_latency, t};
    const unsigned width = 4 / l1_pieces_;  // parts of one of them
    unsigned missing = 0, pieces = 0;
    for (unsigned piece = 0; piece < l1_pieces_; ++piece) {
        if (l1_pieces_ > 1 && (parts >> (piece * width) & ((1U << width) - 1)) == 0) continue;
        if (const L1Lines::Line* hit = policy.past_l1 ? nullptr : cu.l1.find(line * l1_pieces_ + piece)) {
            result.done = std::max(result.done, hit->filled);
        } else {
            missing |= 1U << piece;
            ++pieces;
        }
    }
    if (missing == 0) return result;
    const InFlight::Request& oldest = cu.misses.oldest();
    if (oldest.done > t) {
        t = oldest.done;
        cu.hold(oldest);
    }
    const std::int64_t data = l2_read(line, l1_fill_cost_ * pieces, t, result.found, policy.streams);
    const std::int64_t on_bus =
        cu.returns.serve(data - c_.l1_latency, static_cast<double>(c_.l1_line_bytes) * pieces / c_.return_bytes_per_cycle);
    const std::int64_t arrival = std::max(data, on_bus + c_.l1_latency);
    ++(result.found == Found::l2 ? counts_.read_hits : counts_.read_misses);
    if (result.found == Found::memory) ++counts_.fabric_reads_128;
    counts.requests += pieces;
    cu.misses.push(arrival, pc, false);
    for (unsigned piece = 0; piece < l1_pieces_ && !policy.past_l1; ++piece)
        if ((missing >> piece & 1U) != 0) cu.l1.insert(line * l1_pieces_ + piece).filled = arrival;
    return {false, result.found, std::max(result.done, arrival), t};
}

std::int64_t XcdMemory::load(CuMemory& cu, const Touched& access, CachePolicy policy, std::uint32_t pc, std::int64_t start,
                             CacheCounts& counts) {
    const int address_cycles = std::max(access.l1_cycles * c_.l1_line_cycles,
                                        ceil_div(access.lanes * access.bytes, c_.return_bytes_per_cycle));
    cu.l1.prefetch_entry(access.line[0] * l1_pieces_);
    for (int i = kFetchedAhead; i < access.lines; ++i) prefetch(cu, access.line[i]);
    std::int64_t t = start;
    std::int64_t done = start + c_.l1_latency;
    // Its lines are found one after the other; those that are not there are asked for one at a time.
    const int each = access.lines == 0 ? 0 : (address_cycles << kParts) / access.lines;
    int passed = 0, worked = 0;
    for (int i = 0; i < access.lines; ++i) {
        ++counts.lines;
        t = cu.translate(access.line[i], t, pc);
        const int to_next = ((passed + each) >> kParts) - (passed >> kParts);
        passed += each;
        const Arrival arrival = look_up(cu, access.line[i], access.parts[i], policy, pc, t, counts);
        ++(arrival.in_l1 ? counts.l1_hits : arrival.found == Found::l2 ? counts.l2_hits : counts.memory_lines);
        done = std::max(done, arrival.done);
        const int cycles = arrival.in_l1 ? to_next : std::max(to_next, c_.l1_line_cycles);
        t = arrival.next + cycles;
        worked += cycles;
    }
    cu.address_free = std::max(start + address_cycles, t);
    cu.busy += std::max(address_cycles, worked);
    return done;
}

std::int64_t XcdMemory::store(CuMemory& cu, const Touched& access, CachePolicy policy, std::uint32_t pc, std::int64_t start,
                              CacheCounts& counts) {
    const int data_cycles = std::max(access.l1_cycles * c_.l1_line_cycles,
                                     ceil_div(access.lanes * access.bytes, c_.store_bytes_per_cycle));
    for (int i = kFetchedAhead; i < access.lines; ++i) l2_.prefetch(access.line[i]);
    const double request_cost = l2_write_cost_ * partial_write_factor(access, c_.partial_write_factor);
    std::int64_t t = start;
    std::int64_t done = start + c_.store_latency;
    for (int i = 0; i < access.lines; ++i, t += c_.l1_line_cycles) {
        const int halves = halves_of(access.parts[i]);
        ++counts.lines;
        t = cu.translate(access.line[i], t, pc);
        const InFlight::Request& oldest = cu.stores.oldest();
        if (oldest.done > t) {
            t = oldest.done;
            cu.hold(oldest);
        }
        const std::int64_t served = channel(access.line[i]).serve(t, request_cost * halves);
        const bool known = l2_.find(access.line[i]) != nullptr;  // the first half allocates the line, the second finds it
        counts_.write_hits += static_cast<unsigned>(halves - (known ? 0 : 1));
        counts_.write_misses += known ? 0 : 1;
        l2_write(access.line[i], access.parts[i], served, policy.streams);
        const std::int64_t acknowledged = served + c_.store_latency;
        cu.stores.push(acknowledged, pc, false);
        done = std::max(done, acknowledged);
    }
    cu.address_free = std::max(start + data_cycles, t);
    cu.busy += std::max<std::int64_t>(data_cycles, std::int64_t{access.lines} * c_.l1_line_cycles);
    drained_ = std::max(drained_, done);
    return done;
}

/// Time at which the line is where its words are changed. On a device of one L2 that is the L2; on one of several, atomics of
/// the whole device pass the L2 and are done at the memory's side, where all XCDs see them.
std::int64_t XcdMemory::bring_for_atomic(std::uint64_t line, unsigned requests, std::int64_t served, CacheCounts& counts) {
    if (c_.xcds > 1) {
        ++counts.memory_lines;
        counts_.atomic_misses += requests;
        if (seen(line) || history_.resident(line)) return served;
        counts_.hbm_read_bytes += kLine;
        counts_.hbm_write_bytes += kLine;
        hbm_.serve(served, hbm_write_cost_);  // once, however often it is changed
        return hbm_.serve(served, hbm_read_cost_) + c_.memory_latency - c_.mall_latency;
    }
    const bool hit = l2_.find(line) != nullptr;
    counts_.atomic_hits += requests - (hit ? 0 : 1);
    if (hit) {
        ++counts.l2_hits;
        return served;
    }
    Found found{};
    const std::int64_t ready = std::max(served, l2_read(line, l2_read_cost_, served, found) - c_.l2_latency);
    ++counts.memory_lines;
    ++counts_.atomic_misses;
    ++counts_.fabric_reads_128;
    return ready;
}

/// Time at which the last word of the line has its new value. Requests to different words follow each other at the pace of
/// their channel; one to a word waits until the word's last change is done, of whichever XCD: the others' operations on
/// the same line come in between. Lanes on one address are taken one after the other.
std::int64_t XcdMemory::change_words(const MemoryAccess& access, std::uint64_t line, int requests, std::int64_t ready) {
    AtomicLine& state = atomic_lines_[line];
    int lanes_on[kLine / 4] = {};
    int most = 1;
    std::uint32_t words = 0;
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t address = access.address[0][std::countr_zero(rest)];
        if (address >> kLineBits != line) continue;
        const std::size_t word = address % kLine / 4;
        words |= 1U << word;
        most = std::max(most, ++lanes_on[word]);
    }
    const std::int64_t same_word = std::int64_t{most - 1} * c_.atomic_lane_cycles;
    const std::int64_t occupied = (std::int64_t{requests} * c_.atomic_request_cycles + same_word) * active_xcds_;
    const std::int64_t turn = (c_.atomic_word_cycles + same_word) * active_xcds_;
    const std::uint64_t unit = line >> 1U;
    Server& channel = atomic_channels_[(unit ^ (unit >> 7U) ^ (unit >> 14U)) % atomic_channels_.size()];
    std::int64_t begin = std::max(ready, channel.serve(ready, static_cast<double>(occupied)) - occupied);
    std::int64_t wait = 0;
    for (std::uint32_t rest = words; rest != 0; rest &= rest - 1)
        wait = std::max(wait, state.words[std::countr_zero(rest)].wait(ready, turn));
    begin = std::max(begin, ready + wait);
    state.busy += occupied;
    if (state.first_words == 0) state.first_words = words & -words;
    if ((state.first_words & words) != 0) state.word_busy += turn;
    drained_ = std::max(drained_, begin + turn);
    return begin + c_.atomic_word_cycles + same_word;
}

std::int64_t XcdMemory::atomic(CuMemory& cu, const Touched& access, std::uint32_t pc, std::int64_t start, CacheCounts& counts) {
    std::int64_t t = start;
    std::int64_t done = start + c_.atomic_latency;
    for (int i = 0; i < access.lines; ++i, t += c_.l1_line_cycles) {
        const std::uint64_t line = access.line[i];
        const int requests = halves_of(access.parts[i]);
        ++counts.lines;
        t = cu.translate(line, t, pc);
        ++counts.requests;
        const InFlight::Request& oldest = cu.stores.oldest();
        if (oldest.done > t) {
            t = oldest.done;
            cu.hold(oldest);
        }
        const std::int64_t served = channel(line).serve(t, l2_write_cost_ * requests);
        const std::int64_t ready = bring_for_atomic(line, static_cast<unsigned>(requests), served, counts);
        if (c_.xcds == 1) l2_write(line, access.parts[i], ready, false);
        const std::int64_t changed = change_words(*access.made, line, requests, ready);
        const std::int64_t finished = changed + c_.atomic_latency;
        // What returns nothing leaves the CU as a store does, unless it waits for its turn at the word.
        cu.stores.push(access.kind == AccessKind::atomic_return ? finished : changed + c_.store_latency, pc, true);
        done = std::max(done, finished);
    }
    cu.address_free = std::max<std::int64_t>(start + ceil_div(access.lanes, c_.address_lanes_per_cycle), t);
    cu.busy += std::max<std::int64_t>(ceil_div(access.lanes, c_.address_lanes_per_cycle), access.lines);
    drained_ = std::max(drained_, done);
    return done;
}

std::int64_t XcdMemory::hottest_atomic() const {
    std::int64_t worst = 0;
    for (const auto& [line, state] : atomic_lines_) worst = std::max({worst, state.busy, state.word_busy});
    return worst;
}

}  // namespace hipscope
