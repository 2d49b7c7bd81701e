// Writer of a recorded dispatch.
#include "capture/record.hpp"

#include <algorithm>
#include <cstring>

#include "engine/json.hpp"

namespace hipscope {

void find_references(const std::vector<KernelArgument>& arguments, std::string_view kernarg,
                     std::vector<RecordedBuffer>& buffers) {
    for (std::size_t a = 0; a < arguments.size(); ++a) {
        const KernelArgument& argument = arguments[a];
        if (argument.value_kind.starts_with("hidden_")) continue;
        const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{argument.offset} + argument.size, kernarg.size());
        for (std::uint64_t at = argument.offset; at + 8 <= end; at += 8) {
            std::uint64_t value = 0;
            std::memcpy(&value, kernarg.data() + at, 8);
            for (RecordedBuffer& buffer : buffers)
                if (value - buffer.address < std::max<std::uint64_t>(buffer.bytes, 1)) {
                    buffer.arguments.push_back(a);
                    buffer.offsets.push_back(value - buffer.address);
                }
        }
    }
}

void write_meta(DispatchWriter& files, const CapturedLaunch& r) {
    Json json;
    json.open('{').field("id", r.id).field("kernel", r.kernel).field("code_object", r.code_object_hash);
    json.list("grid", r.grid).list("workgroup", r.workgroup).field("dynamic_lds", r.dynamic_lds);
    json.field("cooperative", r.cooperative).field("variant", r.variant).field("kernarg_bytes", r.kernarg_bytes);
    json.field("explicit_bytes", r.explicit_bytes);
    json.key("arguments").open('[');
    for (const KernelArgument& a : r.arguments)
        json.open('{').field("offset", a.offset).field("size", a.size).field("value_kind", a.value_kind).close('}');
    json.close(']').key("buffers").open('[');
    for (std::size_t i = 0; i < r.buffers.size(); ++i) {
        const RecordedBuffer& b = r.buffers[i];
        json.open('{').field("index", i).field("address", b.address).field("bytes", b.bytes);
        json.list("referenced_by", b.arguments).list("offset_in_buffer", b.offsets);
        json.field("before", "buffer_" + std::to_string(i) + ".before").close('}');
    }
    json.close(']').key("globals").open('[');
    for (std::size_t i = 0; i < r.globals.size(); ++i)
        json.open('{').field("symbol", r.globals[i].symbol).field("address", r.globals[i].address)
            .field("bytes", r.globals[i].bytes).field("before", "global_" + std::to_string(i) + ".before").close('}');
    json.close(']').field("complete", r.reason.empty()).key("reason");
    if (r.reason.empty()) json.null();
    else json.value(r.reason);
    json.key("note");
    if (r.note.empty()) json.null();
    else json.value(r.note);
    json.close('}');
    files.seal(json.text());
}

}  // namespace hipscope
