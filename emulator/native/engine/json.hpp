// Writes JSON text into a string.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

namespace hipscope {

class Json {
public:
    Json& open(char bracket) { separate(); text_ += bracket; fresh_ = true; return *this; }
    Json& close(char bracket) { text_ += bracket; fresh_ = false; return *this; }
    Json& key(std::string_view name) {
        value(name);
        text_ += ':';
        fresh_ = true;
        return *this;
    }
    Json& value(std::string_view text) { separate(); quote(text); return *this; }
    Json& value(const char* text) { return value(std::string_view(text)); }
    Json& value(const std::string& text) { return value(std::string_view(text)); }
    Json& value(bool flag) { return raw(flag ? "true" : "false"); }
    Json& value(std::integral auto number) { return raw(std::to_string(number)); }
    Json& value(double number) {
        if (!std::isfinite(number)) return null();
        char buffer[40];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
        return raw(std::string_view(buffer, static_cast<std::size_t>(end - buffer)));
    }
    Json& null() { return raw("null"); }
    Json& raw(std::string_view text) { separate(); text_ += text; return *this; }
    template <class T>
    Json& field(std::string_view name, const T& content) { return key(name).value(content); }
    template <class Range>
    Json& list(std::string_view name, const Range& items) {
        key(name).open('[');
        for (const auto& item : items) value(item);
        return close(']');
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    void separate() {
        if (!fresh_) text_ += ',';
        fresh_ = false;
    }
    void quote(std::string_view text) {
        static constexpr std::string_view digits = "0123456789abcdef";
        text_ += '"';
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\') (text_ += '\\') += c;
            else if (byte < 0x20) ((text_ += "\\u00") += digits[byte >> 4U]) += digits[byte & 15U];
            else text_ += c;
        }
        text_ += '"';
    }

    std::string text_;
    bool fresh_ = true;
};

}  // namespace hipscope
