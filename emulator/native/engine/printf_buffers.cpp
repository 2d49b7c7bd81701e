// Takes the messages of buffered printf apart.
#include "engine/printf_buffers.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <stdexcept>

#include "engine/device_printf.hpp"

namespace hipscope {
namespace {

/// The start of a buffer: bytes taken behind this header, and bytes of the whole buffer.
struct Header {
    std::uint32_t taken, size;
};
constexpr std::uint32_t kBytes = 16 << 20;  // real devices have 1 MiB for all threads; what does not fit is not printed

// A message: one word with its size and these flags, then the number of a constant format or the padded text of another.
constexpr std::uint32_t kConstantFormat = 2, kSizeShift = 2, kControlBytes = 4;

char* at(std::uint64_t address) {
    return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Messages follow each other in steps of 4 bytes, so their words are copied before they are read.
std::vector<std::uint64_t> words_of(std::string_view bytes) {
    std::vector<std::uint64_t> words((bytes.size() + 7) / 8);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

std::string text_of(std::uint32_t control, std::string_view body, const PrintfFormats& formats) {
    const std::vector<std::uint64_t> words = words_of(body);
    if ((control & kConstantFormat) == 0) return format_device_text(words);
    const auto format = words.empty() ? formats.end() : formats.find(words.front());
    return format == formats.end() ? "" : format_device_text(format->second.c_str(), std::span(words).subspan(1));
}

}  // namespace

void add_printf_format(PrintfFormats& formats, std::string_view line) {
    constexpr std::string_view start = "0:0:";
    const std::size_t comma = line.find(',');
    if (!line.starts_with(start) || comma == std::string_view::npos) return;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data() + start.size(), line.data() + comma, number, 16);
    if (error == std::errc() && end == line.data() + comma) formats.emplace(number, line.substr(comma + 1));
}

void PrintfBuffers::open(int threads) {
    while (static_cast<int>(buffers_.size()) < threads) {
        const std::uint64_t block = memory_.allocate(kBytes);
        if (block == 0) throw std::runtime_error("no device memory left for the kernel's printf");
        const Header header{0, kBytes};
        std::memcpy(at(block), &header, sizeof header);
        buffers_.push_back({block, {}});
    }
}

void PrintfBuffers::note(int thread, std::uint64_t group) {
    Buffer& buffer = buffers_[static_cast<std::size_t>(thread)];
    Header header{};
    std::memcpy(&header, at(buffer.block), sizeof header);
    const std::uint32_t before = buffer.pieces.empty() ? 0 : buffer.pieces.back().end;
    if (header.taken > before) buffer.pieces.push_back({group, before, std::min<std::uint32_t>(header.taken, kBytes - sizeof header)});
}

void PrintfBuffers::read(const PrintfFormats& formats, const std::function<void(std::uint64_t group, std::string text)>& print) {
    for (Buffer& buffer : buffers_) {
        char* const data = at(buffer.block + sizeof(Header));
        for (const Piece& piece : buffer.pieces) {
            for (std::uint32_t where = piece.begin; piece.end - where >= kControlBytes;) {
                std::uint32_t control = 0;
                std::memcpy(&control, data + where, sizeof control);
                const std::uint32_t size = control >> kSizeShift;
                // A wave that has faulted leaves a message that it did not finish.
                if (size < kControlBytes || size > piece.end - where) break;
                print(piece.group, text_of(control, {data + where + kControlBytes, size - kControlBytes}, formats));
                where += size;
            }
        }
        if (buffer.pieces.empty()) continue;
        std::memset(data, 0, buffer.pieces.back().end);
        const std::uint32_t nothing = 0;
        std::memcpy(at(buffer.block), &nothing, sizeof nothing);
        buffer.pieces.clear();
    }
}

void PrintfBuffers::add_blocks(std::vector<std::uint64_t>& blocks) const {
    for (const Buffer& buffer : buffers_) blocks.push_back(buffer.block);
}

}  // namespace hipscope
