// Reader of meta.json.
#include "capture/meta.hpp"

#include <stdexcept>

#include "engine/json_value.hpp"

namespace hipscope {
namespace {

std::array<std::uint32_t, 3> triple(const msgpack::Value& value) {
    if (value.items.size() != 3) throw std::runtime_error("grid and workgroup must have three numbers");
    return {static_cast<std::uint32_t>(value.items[0].integer), static_cast<std::uint32_t>(value.items[1].integer),
            static_cast<std::uint32_t>(value.items[2].integer)};
}

}  // namespace

CapturedDispatch CapturedDispatch::read(const std::string& directory) {
    const std::string path = directory + "/meta.json";
    CapturedDispatch d;
    d.files = Checksums(directory);
    const std::string text = d.files.read("meta.json");
    try {
        const msgpack::Value meta = parse_json(text);
        d.id = static_cast<std::uint64_t>(meta["id"].integer);
        d.kernel = meta["kernel"].text;
        d.grid = triple(meta["grid"]);
        d.workgroup = triple(meta["workgroup"]);
        d.dynamic_lds = static_cast<std::uint32_t>(meta["dynamic_lds"].integer);
        d.cooperative = meta["cooperative"].integer != 0;
        d.explicit_bytes = static_cast<std::uint64_t>(meta["explicit_bytes"].integer);
        for (const msgpack::Value& b : meta["buffers"].items)
            d.buffers.push_back({static_cast<std::uint64_t>(b["address"].integer), static_cast<std::uint64_t>(b["bytes"].integer)});
        for (const msgpack::Value& g : meta["globals"].items)
            d.globals.push_back({g["symbol"].text, g["before"].text, static_cast<std::uint64_t>(g["bytes"].integer)});
        return d;
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(path + ": " + error.what());
    }
}

}  // namespace hipscope
