// MessagePack reader: the subset that LLVM writes (no extension types, text keys). See the MessagePack specification.
#include "engine/msgpack.hpp"

#include <stdexcept>

namespace hipscope::msgpack {
namespace {

class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    Value value() {  // NOLINT(misc-no-recursion): depth is that of the document
        if (++depth_ > 64) throw std::runtime_error("metadata is nested too deeply");
        const std::uint8_t tag = byte();
        Value result = tagged(tag);
        --depth_;
        return result;
    }

private:
    Value tagged(std::uint8_t tag) {  // NOLINT(misc-no-recursion)
        if (tag < 0x80) return integer(tag);
        if (tag < 0x90) return map(tag & 0x0fU);
        if (tag < 0xa0) return array(tag & 0x0fU);
        if (tag < 0xc0) return text(tag & 0x1fU);
        if (tag >= 0xe0) return integer(static_cast<std::int8_t>(tag));
        switch (tag) {
            case 0xc0: return {};
            case 0xc2: return boolean(false);
            case 0xc3: return boolean(true);
            case 0xcc: return integer(static_cast<std::int64_t>(number(1)));
            case 0xcd: return integer(static_cast<std::int64_t>(number(2)));
            case 0xce: return integer(static_cast<std::int64_t>(number(4)));
            case 0xcf: return integer(static_cast<std::int64_t>(number(8)));
            case 0xd0: return integer(static_cast<std::int8_t>(number(1)));
            case 0xd1: return integer(static_cast<std::int16_t>(number(2)));
            case 0xd2: return integer(static_cast<std::int32_t>(number(4)));
            case 0xd3: return integer(static_cast<std::int64_t>(number(8)));
            case 0xc4: case 0xd9: return text(number(1));
            case 0xc5: case 0xda: return text(number(2));
            case 0xc6: case 0xdb: return text(number(4));
            case 0xca: number(4); return {};
            case 0xcb: number(8); return {};
            case 0xdc: return array(number(2));
            case 0xdd: return array(number(4));
            case 0xde: return map(number(2));
            case 0xdf: return map(number(4));
            default: throw std::runtime_error("unknown encoding in the metadata note");
        }
    }

    static Value integer(std::int64_t number) {
        Value v;
        v.kind = Value::Kind::integer;
        v.integer = number;
        return v;
    }
    static Value boolean(bool flag) {
        Value v = integer(flag ? 1 : 0);
        v.kind = Value::Kind::boolean;
        return v;
    }
    Value text(std::uint64_t size) {
        Value v;
        v.kind = Value::Kind::text;
        v.text = std::string(take(size));
        return v;
    }
    Value array(std::uint64_t count) {  // NOLINT(misc-no-recursion)
        Value v;
        v.kind = Value::Kind::array;
        for (std::uint64_t i = 0; i < count; ++i) v.items.push_back(value());
        return v;
    }
    Value map(std::uint64_t count) {  // NOLINT(misc-no-recursion)
        Value v;
        v.kind = Value::Kind::map;
        for (std::uint64_t i = 0; i < count; ++i) {
            v.keys.push_back(value().text);
            v.items.push_back(value());
        }
        return v;
    }
    std::uint64_t number(int bytes) {
        std::uint64_t n = 0;
        for (const char c : take(static_cast<std::uint64_t>(bytes))) n = (n << 8U) | static_cast<std::uint8_t>(c);
        return n;
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
    std::string_view take(std::uint64_t size) {
        if (size > bytes_.size() - at_) throw std::runtime_error("the metadata note is truncated");
        const std::string_view part = bytes_.substr(at_, size);
        at_ += size;
        return part;
    }

    std::string_view bytes_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

const Value& Value::operator[](std::string_view name) const {
    static const Value nil;
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (keys[i] == name) return items[i];
    return nil;
}

Value parse(std::string_view bytes) { return Reader(bytes).value(); }

}  // namespace hipscope::msgpack
