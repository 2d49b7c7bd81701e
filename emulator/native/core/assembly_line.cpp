// See the header.
#include "core/assembly_line.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace hipscope {
namespace {

std::string_view trim(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return s;
}

bool hex(std::string_view& s, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, 16);
    if (error != std::errc{}) return false;
    s.remove_prefix(static_cast<std::size_t>(end - s.data()));
    return true;
}

}  // namespace

bool split_comment(std::string_view raw, Line& line) {
    const std::size_t comment = raw.rfind("// ");
    if (comment == std::string_view::npos) return false;
    line.text = trim(raw.substr(0, comment));
    std::string_view rest = raw.substr(comment + 3);
    if (!hex(rest, line.address) || rest.empty() || rest.front() != ':') return false;
    rest.remove_prefix(1);
    line.word_count = 0;
    while (line.word_count < line.words.size()) {
        rest = trim(rest);
        if (rest.size() < 8) break;
        std::uint64_t word = 0;
        std::string_view token = rest.substr(0, 8);
        if (!hex(token, word) || !token.empty()) break;
        line.words[line.word_count++] = static_cast<std::uint32_t>(word);
        rest.remove_prefix(8);
    }
    return line.word_count != 0;
}

bool split_operands(Line& line) {
    const std::string_view text = line.text;
    const std::size_t space = text.find_first_of(" \t");
    line.mnemonic = text.substr(0, space);
    line.operand_count = 0;
    line.modifiers = {};
    if (space == std::string_view::npos) return true;
    const std::string_view rest = trim(text.substr(space));
    int depth = 0;
    bool absolute = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= rest.size(); ++i) {
        const char c = i < rest.size() ? rest[i] : '\0';
        if (c == '[' || c == '(') ++depth;
        if (c == ']' || c == ')') --depth;
        if (c == '|') absolute = !absolute;
        if (depth != 0 && c != '\0') continue;
        if (c == ',' || c == ' ' || c == '\0') {
            if (i > begin) {
                if (line.operand_count == max_operands) return false;
                line.operands[line.operand_count++] = rest.substr(begin, i - begin);
            }
            if (c == ' ') {
                line.modifiers = trim(rest.substr(i));
                return true;
            }
            begin = i + 1;
            while (begin < rest.size() && rest[begin] == ' ') ++begin;
            i = std::max(i, begin - 1);
        }
    }
    return true;
}

std::string_view modifier(std::string_view modifiers, std::string_view name) {
    for (std::size_t at = modifiers.find(name); at != std::string_view::npos; at = modifiers.find(name, at + 1)) {
        if (at != 0 && modifiers[at - 1] != ' ') continue;
        const std::string_view value = modifiers.substr(at + name.size());
        return value.substr(0, value.find(' '));
    }
    return {};
}
bool flag(std::string_view modifiers, std::string_view name) {
    for (std::size_t at = modifiers.find(name); at != std::string_view::npos; at = modifiers.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at == 0 || modifiers[at - 1] == ' ') && (end == modifiers.size() || modifiers[end] == ' ')) return true;
    }
    return false;
}
std::int32_t number(std::string_view s) {
    const bool negative = !s.empty() && s.front() == '-';
    if (negative) s.remove_prefix(1);
    const bool is_hex = s.starts_with("0x");
    if (is_hex) s.remove_prefix(2);
    std::int64_t value = 0;
    std::from_chars(s.data(), s.data() + s.size(), value, is_hex ? 16 : 10);
    return static_cast<std::int32_t>(negative ? -value : value);
}

}  // namespace hipscope
