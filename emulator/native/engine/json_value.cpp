// JSON reader for the files that this program writes itself.
#include "engine/json_value.hpp"

#include <charconv>
#include <stdexcept>

namespace hipscope {
namespace {

using msgpack::Value;

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    Value document() {
        Value v = value();
        if (peek() != '\0') fail();
        return v;
    }

private:
    Value value() {  // NOLINT(misc-no-recursion)
        if (++depth_ > 64) fail();
        Value v;
        switch (peek()) {
            case '{': v = object(); break;
            case '[': v = array(); break;
            case '"': v.kind = Value::Kind::text; v.text = text(); break;
            case 't': word("true"); v.kind = Value::Kind::boolean; v.integer = 1; break;
            case 'f': word("false"); v.kind = Value::Kind::boolean; break;
            case 'n': word("null"); break;
            default: v.kind = Value::Kind::integer; v.integer = number();
        }
        --depth_;
        return v;
    }
    Value object() {  // NOLINT(misc-no-recursion)
        Value v;
        v.kind = Value::Kind::map;
        for (take('{'); peek() != '}';) {
            v.keys.push_back(text());
            take(':');
            v.items.push_back(value());
            if (peek() != '}') take(',');
        }
        take('}');
        return v;
    }
    Value array() {  // NOLINT(misc-no-recursion)
        Value v;
        v.kind = Value::Kind::array;
        for (take('['); peek() != ']';) {
            v.items.push_back(value());
            if (peek() != ']') take(',');
        }
        take(']');
        return v;
    }
    std::string text() {
        take('"');
        std::string out;
        while (at_ < text_.size() && text_[at_] != '"') {
            char c = text_[at_++];
            if (c == '\\' && at_ < text_.size()) {
                c = text_[at_++];
                if (c == 'u') {
                    unsigned code = 0;
                    std::from_chars(text_.data() + at_, text_.data() + std::min(at_ + 4, text_.size()), code, 16);
                    at_ += 4;
                    c = static_cast<char>(code);
                } else if (c == 'n') {
                    c = '\n';
                } else if (c == 't') {
                    c = '\t';
                }
            }
            out += c;
        }
        take('"');
        return out;
    }
    std::int64_t number() {
        std::int64_t result = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), result);
        if (error != std::errc()) fail();
        at_ = static_cast<std::size_t>(end - text_.data());
        while (at_ < text_.size() && std::string_view("0123456789.eE+-").find(text_[at_]) != std::string_view::npos) ++at_;
        return result;
    }
    char peek() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    void take(char c) {
        if (peek() != c) fail();
        ++at_;
    }
    void word(std::string_view w) {
        if (text_.substr(at_, w.size()) != w) fail();
        at_ += w.size();
    }
    [[noreturn]] void fail() const { throw std::runtime_error("not valid JSON at byte " + std::to_string(at_)); }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

msgpack::Value parse_json(std::string_view text) { return Reader(text).document(); }

}  // namespace hipscope
