// Reader of meta.json.
#include "capture/meta.hpp"

#include <fstream>
#include <iterator>
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

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read '" + path + "'");
    return {std::istreambuf_iterator<char>(file), {}};
}

CapturedDispatch CapturedDispatch::read(const std::string& directory) {
    const std::string path = directory + "/meta.json";
    try {
        const msgpack::Value meta = parse_json(read_file(path));
        CapturedDispatch d;
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
