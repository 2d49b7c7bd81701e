// Writer of `effects` and `copies`.
#include "capture/effects.hpp"

#include <algorithm>

#include "core/digest.hpp"

namespace hipscope {

/// Half of the budget is for the first launches; then those at growing distances, as far as it lasts.
bool Effects::looks(std::uint64_t bytes) {
    const std::uint64_t number = launches_++;
    if (used_ + bytes > budget_) return false;
    if (used_ + bytes > budget_ / 2 && number < next_) return false;
    next_ = number + number / 4 + 1;
    used_ += bytes;
    return true;
}

void Effects::launched(const std::string& kernel, const Memory& memory, const std::vector<std::uint64_t>& internal) {
    std::uint64_t bytes = 0;
    std::vector<const Allocation*> blocks;
    for (const auto& [address, block] : memory.blocks())
        if (std::ranges::find(internal, address) == internal.end()) {
            blocks.push_back(&block);
            bytes += block.bytes;
        }
    std::string text = "L " + kernel;
    if (looks(bytes))
        for (const Allocation* block : blocks) {
            const std::string_view content{reinterpret_cast<const char*>(block->address), block->bytes};  // NOLINT
            text += ' ' + std::to_string(block->id) + ':' + Digest().add(content).text();
        }
    line(text);
}

void Effects::copied(std::string_view bytes, std::uint64_t from) {
    std::string offset = "-";
    if (kept_ + bytes.size() <= kKept) {
        if (!contents_.is_open()) contents_.open(output_.directory() + "/copies", std::ios::binary);
        contents_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
        offset = std::to_string(kept_);
        kept_ += bytes.size();
    }
    line("C " + std::to_string(bytes.size()) + ' ' + Digest().add(bytes).text() + ' ' + offset + ' ' + std::to_string(from));
}

/// At once: a program that is killed leaves all lines up to then.
void Effects::line(const std::string& text) {
    if (!lines_.is_open()) lines_.open(output_.directory() + "/effects");
    lines_ << text + '\n' << std::flush;
}

}  // namespace hipscope
