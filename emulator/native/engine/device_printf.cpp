// Formats one conversion at a time with the C library's own snprintf.
#include "engine/device_printf.hpp"

#include <cstdio>
#include <cstring>
#include <optional>

namespace hipscope {
namespace {

/// Takes words off the front of a message.
class Words {
public:
    explicit Words(std::span<const std::uint64_t> words) : rest_(words) {}

    std::optional<std::uint64_t> number() {
        if (rest_.empty()) return std::nullopt;
        const std::uint64_t value = rest_.front();
        rest_ = rest_.subspan(1);
        return value;
    }
    /// Bytes up to the first zero; the padding is skipped.
    std::optional<std::string> text() {
        if (rest_.empty()) return std::nullopt;
        const auto* bytes = reinterpret_cast<const char*>(rest_.data());
        const std::size_t length = strnlen(bytes, rest_.size_bytes());
        std::string result(bytes, length);
        rest_ = rest_.subspan(std::min(rest_.size(), length / 8 + 1));
        return result;
    }
    [[nodiscard]] std::span<const std::uint64_t> rest() const { return rest_; }

private:
    std::span<const std::uint64_t> rest_;
};

template <class... Values>
std::string print(const std::string& format, Values... values) {
    const int length = std::snprintf(nullptr, 0, format.c_str(), values...);  // NOLINT: built from a checked conversion
    if (length < 0) return format;
    std::string text(static_cast<std::size_t>(length) + 1, '\0');
    std::snprintf(text.data(), text.size(), format.c_str(), values...);  // NOLINT
    text.pop_back();
    return text;
}

/// "%-8.3" and so on: flags, width and precision, with the values of asterisks filled in.
std::string front(const char*& at, Words& words) {
    std::string spec = "%";
    while (*at != '\0' && std::strchr("-+ #0", *at) != nullptr) spec += *at++;
    for (const bool precision : {false, true}) {
        if (precision) {
            if (*at != '.') break;
            spec += *at++;
        }
        if (*at == '*') {
            ++at;
            const int value = static_cast<int>(words.number().value_or(0));
            if (precision && value < 0) spec.pop_back();  // a negative precision counts as none
            else spec += std::to_string(value);
        }
        while (*at >= '0' && *at <= '9') spec += *at++;
    }
    return spec;
}

/// How an integer argument is narrowed: by the length modifier.
enum class Width { narrow_char, narrow_short, plain, wide };

Width width(const char*& at) {
    if (at[0] == 'h' && at[1] == 'h') return at += 2, Width::narrow_char;
    if (*at == 'h') return ++at, Width::narrow_short;
    Width result = Width::plain;
    while (*at != '\0' && std::strchr("ljztLq", *at) != nullptr) {
        result = Width::wide;
        ++at;
    }
    return result;
}

long long narrowed(std::uint64_t value, Width w, bool is_signed) {
    switch (w) {
        case Width::narrow_char: return is_signed ? static_cast<signed char>(value) : static_cast<unsigned char>(value);
        case Width::narrow_short: return is_signed ? static_cast<short>(value) : static_cast<unsigned short>(value);
        case Width::plain: return is_signed ? static_cast<std::int32_t>(value) : static_cast<long long>(static_cast<std::uint32_t>(value));
        case Width::wide: break;
    }
    return static_cast<long long>(value);
}

/// One conversion, `at` behind its '%'. nullopt when it is none or the message has no word for it.
std::optional<std::string> conversion(const char*& at, Words& words) {
    const std::string spec = front(at, words);
    const Width w = width(at);
    const char kind = *at;
    if (kind == '\0') return std::nullopt;
    ++at;
    if (kind == '%') return "%";
    if (kind == 's') {
        const auto text = words.text();
        if (!text) return std::nullopt;
        return print(spec + "s", text->c_str());
    }
    if (std::strchr("diouxXcpneEfFgGaA", kind) == nullptr) return std::nullopt;
    const auto value = words.number();
    if (!value) return std::nullopt;
    switch (kind) {
        case 'd': case 'i': return print(spec + "lld", narrowed(*value, w, true));
        case 'o': case 'u': case 'x': case 'X':
            return print(spec + "ll" + kind, static_cast<unsigned long long>(narrowed(*value, w, false)));
        case 'c': return print(spec + "c", static_cast<int>(*value));
        case 'p': return print(spec + "p", reinterpret_cast<void*>(*value));  // NOLINT(performance-no-int-to-ptr)
        case 'n': return "";  // nothing is written back to the device
        default: break;
    }
    double number = 0;
    std::memcpy(&number, &*value, sizeof number);
    return print(spec + kind, number);
}

}  // namespace

std::string format_device_text(const char* format, std::span<const std::uint64_t> arguments) {
    Words words(arguments);
    std::string text;
    for (const char* at = format; *at != '\0';) {
        if (*at != '%') {
            text += *at++;
            continue;
        }
        const char* begin = at++;
        if (const auto piece = conversion(at, words)) text += *piece;
        else text.append(begin, at);
    }
    return text;
}

std::string format_device_text(std::span<const std::uint64_t> message) {
    Words words(message);
    const std::string format = words.text().value_or("");
    return format_device_text(format.c_str(), words.rest());
}

}  // namespace hipscope
