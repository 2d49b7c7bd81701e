// Capture set writer.
#include "capture/capture.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "capture/meta.hpp"
#include "core/digest.hpp"
#include "core/files.hpp"

namespace hipscope {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostCheap = 48;  // launches that differ in their arguments alone, while
constexpr std::uint64_t kCheapInstructions = 500'000;  // those of a kernel execute no more in all: each is replayed some times
constexpr std::uint64_t kVariantBytes = 512ULL << 20U;  // of memory in variants of all kernels: each takes time to replay
constexpr std::uint64_t kLooksAtL2 = 3;  // the first ones often warm up or are followed by a copy
constexpr std::size_t kMostPatterns = 4;  // ways in which the pointers of one launch shape share memory

std::string_view contents(std::uint64_t address, std::uint64_t bytes) {
    return {reinterpret_cast<const char*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
}

CapturedLaunch describe(std::uint64_t id, const Launch& launch) {
    CapturedLaunch record;
    record.id = id;
    record.kernel = launch.kernel->symbol;
    record.code_object_hash = launch.object->hash;
    record.grid = launch.grid;
    record.workgroup = launch.workgroup;
    record.dynamic_lds = launch.dynamic_lds;
    record.cooperative = launch.cooperative;
    record.kernarg_bytes = launch.kernel->kernarg_bytes;
    record.explicit_bytes = launch.kernarg.size();
    record.arguments = launch.kernel->arguments;
    return record;
}

/// The blocks that words of the arguments point to, by address and in their order; 0 for a pointer that leads nowhere.
std::vector<std::uint64_t> blocks_of(const Launch& launch, const Memory& memory) {
    std::vector<std::uint64_t> blocks;
    for (const KernelArgument& argument : launch.kernel->arguments) {
        if (argument.value_kind.starts_with("hidden_")) continue;
        const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{argument.offset} + argument.size, launch.kernarg.size());
        for (std::uint64_t at = argument.offset; at + 8 <= end; at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, launch.kernarg.data() + at, 8);
            const Allocation* block = memory.find(word);
            if (block != nullptr || argument.value_kind == "global_buffer") blocks.push_back(block != nullptr ? block->address : 0);
        }
    }
    return blocks;
}

/// Which of them are the same, and which pointers are null: "0.1" shares no memory, "0.0" does.
/// A launch whose pointers share memory does not show what a kernel does where they do not.
std::string sharing(const std::vector<std::uint64_t>& blocks) {
    std::string pattern;
    std::vector<std::uint64_t> seen;
    for (const std::uint64_t block : blocks) {
        if (block == 0) {
            pattern += 'n';
            continue;
        }
        const auto known = std::find(seen.begin(), seen.end(), block);
        pattern += std::to_string(known - seen.begin()) + '.';
        if (known == seen.end()) seen.push_back(block);
    }
    return pattern;
}

/// The lines of a block that an argument points to, where the block lies that this argument pointed to in another launch.
L2Lines moved(const L2Lines& lines, const std::vector<std::uint64_t>& from, const std::vector<std::uint64_t>& to, const Memory& memory) {
    L2Lines result;
    for (LineRun run : lines) {
        const Allocation* block = memory.find(run.first << kLineBits);
        const auto argument = block == nullptr ? from.end() : std::find(from.begin(), from.end(), block->address);
        if (argument != from.end()) run.first += (to[static_cast<std::size_t>(argument - from.begin())] >> kLineBits) - (*argument >> kLineBits);
        result.push_back(run);
    }
    return result;
}

/// The explicit arguments, with the block that a pointer leads to in place of where it lies: what a program allocates
/// anew for each launch is of the same class.
std::string argument_class(const Launch& launch, const Memory& memory) {
    std::string bytes(reinterpret_cast<const char*>(launch.kernarg.data()), launch.kernarg.size());
    std::vector<std::uint64_t> seen;
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, 8);
        const Allocation* block = memory.find(word);
        if (block == nullptr) continue;
        const auto known = std::find(seen.begin(), seen.end(), block->address);
        Digest name;
        name.add(static_cast<std::uint64_t>(known - seen.begin())).add(word - block->address).add(block->bytes);
        if (known == seen.end()) seen.push_back(block->address);
        const std::uint64_t value = name.value();
        std::memcpy(bytes.data() + at, &value, 8);
    }
    return Digest().add(bytes).text();
}

std::uint64_t bytes_of_files(const std::string& folder) {
    std::uint64_t bytes = 0;
    for (const auto& file : fs::directory_iterator(folder)) bytes += file.file_size();
    return bytes;
}

/// Write a part of the dispatch; on an error remove all of it.
template <class Part>
void write_or_remove(const std::string& folder, Part part) {
    try {
        part();
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
        throw;
    }
}

}  // namespace

Capture::Capture(CaptureSettings settings, Memory& memory) : settings_(std::move(settings)), memory_(memory) {
    std::error_code error;
    fs::create_directories(settings_.directory, error);
    if (error) throw std::runtime_error("cannot write to the capture folder '" + settings_.directory + "' (HIPSCOPE_CAPTURE)");
}

/// Makes the folder of a launch; another process of the program may have recorded its own launch of that number.
std::uint64_t Capture::own_number(std::uint64_t id) {
    std::filesystem::create_directories(settings_.directory);
    for (;; id += kNextProcess) {
        folder_ = settings_.directory + "/dispatch_" + std::to_string(id);
        if (std::filesystem::create_directory(folder_)) return id;
    }
}

bool ArgumentClasses::wants(const std::string& arguments, bool cheap, std::string& replaced) {
    replaced.clear();
    if (most_ == 0 || !known_.insert(arguments).second) return false;
    if (taken_ < most_ || (cheap && taken_ < kMostCheap)) {
        ++taken_;
        return true;
    }
    if (++later_ < next_) return false;
    next_ += next_ / 2 + 1;
    replaced = late_.front();
    late_.pop_front();
    return true;
}

void ArgumentClasses::recorded(const std::string& folder) {
    // The first half of them stays.
    if (taken_ > most_ / 2 || most_ == 1) late_.push_back(folder);
}

Capture::Wanted Capture::wants(const std::string& symbol, const std::string& shape, const std::string& pattern,
                               const std::string& arguments) {
    ArgumentClasses& classes = classes_.try_emplace(symbol, settings_.variants).first->second;
    std::map<std::string, std::uint64_t>& taken = taken_[shape];
    if (taken.size() < kMostPatterns || taken.contains(pattern)) {
        if (taken[pattern] < settings_.per_shape) {
            ++taken[pattern];
            classes.know(arguments);
            return Wanted::first;
        }
    }
    const std::uint64_t most = std::min(settings_.max_bytes, kVariantBytes);
    if (variant_bytes_ >= most) return Wanted::no;
    const auto work = work_.find(symbol);
    const bool cheap = work != work_.end() && work->second <= kCheapInstructions && variant_bytes_ <= most / 8;
    return classes.wants(arguments, cheap, replaced_) ? Wanted::variant : Wanted::no;
}

/// One line for each launch, written at once: a program that is killed leaves all lines up to then.
void Capture::list(const std::string& symbol, const std::string& launch_class, std::uint64_t id) {
    if (!launches_.is_open()) launches_.open(settings_.directory + "/launches", std::ios::app);
    launches_ << symbol + ' ' + launch_class + ' ' + std::to_string(id) + '\n' << std::flush;
}

bool Capture::before(std::uint64_t id, const PreparedLaunch& p, const std::string& shape,
                     const std::vector<std::uint64_t>& internal, const std::function<std::optional<L2Lines>()>& l2_lines) {
    const std::string& symbol = p.launch.kernel->symbol;
    const auto& wanted = settings_.kernels;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), symbol) == wanted.end()) return false;
    const std::vector<std::uint64_t> pointed = blocks_of(p.launch, memory_);
    const std::string pattern = sharing(pointed);
    // The shape belongs to the class: other arguments of one shape are not those of another.
    const std::string arguments = shape + ' ' + pattern + ' ' + argument_class(p.launch, memory_);
    replaced_.clear();
    const Wanted wanted_as = wants(symbol, shape, pattern, arguments);
    const std::string name = Digest().add(arguments).text();
    if (wanted_as != Wanted::first) keep_l2_lines(shape + pattern, pointed, l2_lines);
    if (wanted_as == Wanted::no) {
        list(symbol, name, 0);
        return false;
    }
    const std::uint64_t number = own_number(id);
    if (wanted_as == Wanted::first) {
        shapes_.try_emplace(shape + pattern, OfShape{folder_, pointed});
        keep_l2_lines(shape + pattern, pointed, l2_lines);
    }
    list(symbol, name, number);
    record_ = describe(number, p.launch);
    record_.variant = wanted_as == Wanted::variant;
    files_ = DispatchWriter(folder_);
    std::uint64_t total = 0;
    std::vector<TouchedMemory::Block> blocks;
    for (const auto& [address, block] : memory_.blocks())
        if (std::find(internal.begin(), internal.end(), address) == internal.end()) {
            record_.buffers.push_back({address, block.bytes, {}, {}});
            blocks.push_back({address, block.bytes, block.host_visible});
            total += block.bytes;
        }
    const std::vector<std::uint8_t>& kernarg = p.launch.kernarg;
    kernarg_.assign(reinterpret_cast<const char*>(kernarg.data()), kernarg.size());
    find_references(record_.arguments, kernarg_, record_.buffers);
    for (const auto& [name, variable] : p.launch.object->variables)
        if (!name.starts_with("__hip_cuid_"))  // names the compilation, holds nothing
            record_.globals.push_back({name, variable.address, variable.bytes});
    const bool room = has_room(2 * std::min(total, settings_.max_bytes));  // before and after
    if (!room) record_.buffers.clear();
    write_or_remove(folder_, [&] {
        write_globals(".before");
        if (total <= settings_.max_bytes) write_buffers(".before");
        files_.add("kernarg.bin", contents(p.kernarg_address, p.launch.kernel->kernarg_bytes));
        files_.add("code_object.co", p.launch.object->elf);
        watch_.reset();
        // More than may be recorded: the pages tell what of it the launch needs.
        if (room && total > settings_.max_bytes) watch_.emplace(blocks, settings_.max_bytes);
    });
    live_bytes_ = total;
    return true;
}

void Capture::after(const DispatchResult& result) {
    if (watch_) watch_->end();
    write_or_remove(folder_, [&] {
        if (watch_) keep_touched();
        if (result.fault) record_.reason = "the dispatch faulted: " + result.fault->message;
        if (!result.fault) {
            write_buffers(".after");
            write_globals(".after");
        }
        write_meta(files_, record_);
    });
    watch_.reset();
    written_ += bytes_of_files(folder_);
    work_[record_.kernel] += result.instructions;
    for (const RecordedBuffer& b : record_.buffers) variant_bytes_ += record_.variant ? b.bytes : 0;
    if (!record_.variant) return;
    if (!replaced_.empty()) {
        std::error_code ignored;
        fs::remove_all(replaced_, ignored);
    }
    classes_.at(record_.kernel).recorded(folder_);
}

void Capture::keep_l2_lines(const std::string& shape_and_pattern, const std::vector<std::uint64_t>& pointed,
                            const std::function<std::optional<L2Lines>()>& l2_lines) {
    const auto known = shapes_.find(shape_and_pattern);
    if (known == shapes_.end() || ++known->second.launches > kLooksAtL2) return;
    const auto lines = l2_lines();
    if (lines) replace_file(known->second.folder + "/" + kL2LinesFile, to_text(moved(*lines, pointed, known->second.pointed, memory_)));
}

bool Capture::has_room(std::uint64_t bytes) {
    if (written_ <= settings_.all_bytes && bytes <= settings_.all_bytes - written_) return true;
    record_.reason = "not recorded: it may take " + std::to_string(bytes) + " bytes on disk, earlier launches have " +
                     std::to_string(written_) + " of the " + std::to_string(settings_.all_bytes) + " that recordings may take";
    return false;
}

/// Of each block the part from the first to the last piece that the launch touched, and where its arguments point.
void Capture::keep_touched() {
    const std::string limit = "accordo.max_bytes is " + std::to_string(settings_.max_bytes);
    std::vector<RecordedBuffer> parts;
    std::vector<std::pair<std::size_t, TouchedMemory::Span>> spans;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < record_.buffers.size(); ++i) {
        const RecordedBuffer& b = record_.buffers[i];
        TouchedMemory::Span span = watch_->span(i);
        if (span.end == 0 && b.arguments.empty()) continue;
        if (span.end == 0) span.first = ~0ULL;
        for (const std::uint64_t pointer : b.offsets) {
            span.first = std::min(span.first, pointer / kPage * kPage);
            span.end = std::max(span.end, std::min(b.bytes, (pointer / kPage + 1) * kPage));
        }
        parts.push_back({b.address + span.first, span.end - span.first, {}, {}});
        spans.emplace_back(i, span);
        bytes += span.end - span.first;
    }
    record_.buffers.clear();
    if (!watch_->whole() || bytes > settings_.max_bytes) {
        record_.reason = "not recorded: the memory that the launch uses spans " + std::to_string(std::max(bytes, watch_->bytes())) +
                         " bytes, the limit " + limit;
        return;
    }
    record_.note = "of " + std::to_string(live_bytes_) + " bytes of live memory the " + std::to_string(bytes) +
                   " that the launch uses were recorded (" + limit + "): what else a rewrite accesses counts as out of bounds";
    for (std::size_t n = 0; n < parts.size(); ++n)
        files_.add_memory("buffer_" + std::to_string(n) + ".before", watch_->before(spans[n].first, spans[n].second));
    record_.buffers = std::move(parts);
    find_references(record_.arguments, kernarg_, record_.buffers);
}

void Capture::write_buffers(const std::string& ending) {
    for (std::size_t i = 0; i < record_.buffers.size(); ++i)
        files_.add_memory("buffer_" + std::to_string(i) + ending, contents(record_.buffers[i].address, record_.buffers[i].bytes));
}

void Capture::write_globals(const std::string& ending) {
    for (std::size_t i = 0; i < record_.globals.size(); ++i)
        files_.add_memory("global_" + std::to_string(i) + ending, contents(record_.globals[i].address, record_.globals[i].bytes));
}

}  // namespace hipscope
