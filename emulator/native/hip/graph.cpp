// Runs work, keeps graphs.
#include "hip/graph.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "hip/api.hpp"
#include "hip/copies.hpp"

namespace hipscope {
namespace {

struct Runner {
    Runtime& runtime;
    Stream& stream;

    abi::Error operator()(const KernelWork& w) const {
        LaunchRequest request{w.function, w.grid, w.workgroup, w.dynamic_lds, nullptr, w.kernarg, w.cooperative};
        return runtime.launch(request, stream);
    }
    abi::Error operator()(const CopyWork& w) const { return wait_then(copy_box(runtime, w.p)); }
    abi::Error operator()(const FillWork& w) const { return wait_then(fill_box(runtime, w.p)); }
    abi::Error operator()(const HostWork& w) const {
        stream.ready_ns = runtime.start_of(stream);
        w.function(w.data);
        return abi::error::success;
    }
    abi::Error operator()(const ChildWork& w) const { return run_graph(runtime, stream, *w.graph); }
    abi::Error operator()(const EmptyWork&) const { return abi::error::success; }
    abi::Error operator()(const WaitWork& w) const {
        if (w.event->recorded) stream.ready_ns = std::max(stream.ready_ns, w.event->time_ns);
        return abi::error::success;
    }
    abi::Error operator()(const RecordWork& w) const {
        runtime.record(*w.event, stream);
        if (w.ticket != 0) w.event->shared->reach(w.ticket);
        return abi::error::success;
    }
    abi::Error operator()(const AllocateWork& w) const {
        if (runtime.memory.find(w.memory->address) != nullptr) return abi::error::invalid_value;  // still there from the last launch
        if (!runtime.memory.put(w.memory->address, w.memory->bytes)) return abi::error::out_of_memory;
        runtime.appeared(w.memory->address, false);
        runtime.graph_bytes_high = std::max(runtime.graph_bytes_high, runtime.graph_bytes());
        return abi::error::success;
    }
    abi::Error operator()(const FreeWork& w) const {
        runtime.disappears(address_of(w.pointer));
        return runtime.release(address_of(w.pointer)) ? abi::error::success : abi::error::invalid_value;
    }
    abi::Error operator()(const ValueWork& w) const {
        if (w.wait) return wait_then(abi::error::success);
        std::memcpy(w.pointer, &w.value, w.bytes);
        runtime.touched(w.pointer, w.bytes, true);
        if (runtime.sanitizer) runtime.sanitizer->filled(w.pointer, w.bytes);
        return wait_then(abi::error::success);
    }

private:
    abi::Error wait_then(abi::Error result) const {
        stream.ready_ns = runtime.start_of(stream);
        return result;
    }
};

}  // namespace

abi::Error run(Runtime& runtime, Stream& stream, const Work& work) { return std::visit(Runner{runtime, stream}, work); }

abi::Error symbol_range(Runtime& runtime, const void* symbol, std::uint64_t& address, std::size_t& bytes) {
    const auto found = runtime.variables.find(symbol);
    if (found == runtime.variables.end()) return abi::error::invalid_symbol;
    address = runtime.variable_address(found->second);
    bytes = found->second.bytes;
    return address == 0 ? abi::error::invalid_symbol : abi::error::success;
}

CopyWork copy_work(void* to, const void* from, std::size_t bytes, int kind) {
    CopyWork w;
    w.p.dst_ptr = {to, bytes, bytes, 1};
    w.p.src_ptr = {const_cast<void*>(from), bytes, bytes, 1};
    w.p.extent = {bytes, 1, 1};
    w.p.kind = kind;
    return w;
}

FillWork fill_work(void* to, unsigned value, unsigned element, std::size_t count) {
    return {{to, element, 1, count * element, value, count}};
}

std::shared_ptr<GraphMemory> GraphMemory::make(Runtime& runtime, std::size_t bytes) {
    const std::uint64_t address = bytes == 0 ? 0 : runtime.memory.reserve(bytes);
    if (address == 0) return nullptr;
    runtime.graph_memory[address] = bytes;
    return std::shared_ptr<GraphMemory>(new GraphMemory(runtime, address, bytes));
}

GraphMemory::~GraphMemory() {
    const std::lock_guard lock(runtime_.mutex);
    runtime_.graph_memory.erase(address);
    if (runtime_.memory.find(address) == nullptr) runtime_.memory.unreserve(address, bytes);
}

GraphNode* Graph::add(Work work, std::vector<GraphNode*> before) {
    auto node = std::make_unique<GraphNode>();
    node->graph = this;
    node->work = std::move(work);
    node->before = std::move(before);
    nodes.push_back(std::move(node));
    return nodes.back().get();
}

bool Graph::holds(const GraphNode* node) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto& n) { return n.get() == node; });
}

std::shared_ptr<Graph> Graph::clone() const {
    auto copy = std::make_shared<Graph>();
    copy->objects = objects;
    std::map<const GraphNode*, GraphNode*> made;
    for (const auto& node : nodes) {
        GraphNode* n = made[node.get()] = copy->add(node->work, {});
        n->original = node.get();
        n->enabled = node->enabled;
        if (auto* child = std::get_if<ChildWork>(&n->work)) child->graph = child->graph->clone();
    }
    for (const auto& node : nodes)
        for (const GraphNode* b : node->before) made[node.get()]->before.push_back(made.at(b));
    return copy;
}

GraphNode* Graph::copy_of(const GraphNode* original) const {
    for (const auto& node : nodes)
        if (node->original == original || node.get() == original) return node.get();
    return nullptr;
}

std::vector<GraphNode*> Graph::order() const {
    std::vector<GraphNode*> result;
    std::set<const GraphNode*> done;
    for (bool more = true; more && result.size() < nodes.size();) {
        more = false;
        for (const auto& node : nodes) {
            if (done.contains(node.get())) continue;
            if (!std::all_of(node->before.begin(), node->before.end(), [&](const GraphNode* b) { return done.contains(b); })) continue;
            result.push_back(node.get());
            done.insert(node.get());
            more = true;
        }
    }
    if (result.size() < nodes.size()) result.clear();
    return result;
}

abi::Error submit(Runtime& runtime, Stream* handle, Work work) {
    Stream* stream = runtime.stream_of(handle);
    if (stream == nullptr) return abi::error::invalid_handle;
    if (stream->capture) {
        StreamCapture& capture = *stream->capture;
        if (capture.invalid) return abi::error::stream_capture_invalidated;
        if (auto* event = std::get_if<RecordWork>(&work)) {  // what the event stands for is the state of the capture
            event->event->capture = stream->capture;
            event->event->captured_after = stream->tail;
            return abi::error::success;
        }
        if (auto* event = std::get_if<WaitWork>(&work)) {
            if (event->event->capture != stream->capture) return abi::error::stream_capture_isolation;
            for (GraphNode* node : event->event->captured_after)
                if (std::find(stream->tail.begin(), stream->tail.end(), node) == stream->tail.end()) stream->tail.push_back(node);
            return abi::error::success;
        }
        stream->tail = {capture.graph->add(std::move(work), stream->tail)};
        return abi::error::success;
    }
    if (const auto* event = std::get_if<WaitWork>(&work); event != nullptr && event->event->capture && !event->event->capture->invalid) {
        if (stream == &runtime.legacy) return abi::error::stream_capture_implicit;
        stream->capture = event->event->capture;  // the stream joins the capture
        stream->capture->joined.insert(stream);
        stream->tail = event->event->captured_after;
        return abi::error::success;
    }
    if (stream == &runtime.legacy && runtime.forbid_legacy()) return abi::error::stream_capture_implicit;
    if (auto* record = std::get_if<RecordWork>(&work); record != nullptr && record->event->shared) record->ticket = record->event->shared->begin_record();
    if (auto* wait = std::get_if<WaitWork>(&work); wait != nullptr && wait->event->shared) wait->ticket = wait->event->shared->last_record();
    if (runtime.parked.blocks(runtime, *stream, work)) {
        runtime.parked.add(*stream, std::move(work));
        return abi::error::success;
    }
    const abi::Error error = run(runtime, *stream, work);
    runtime.parked.advance(runtime, stream->ready_ns);
    return error;
}

abi::Error run_graph(Runtime& runtime, Stream& stream, const Graph& graph) {
    const double base = runtime.start_of(stream);
    std::map<const GraphNode*, double> ended;
    double last = base;
    for (const GraphNode* node : graph.order()) {
        Stream lane;
        lane.flags = kStreamNonBlocking;
        lane.ready_ns = base;
        for (const GraphNode* b : node->before) lane.ready_ns = std::max(lane.ready_ns, ended[b]);
        if (const abi::Error e = node->enabled ? run(runtime, lane, node->work) : abi::error::success; e != abi::error::success) return e;
        ended[node] = lane.ready_ns;
        last = std::max(last, lane.ready_ns);
    }
    stream.ready_ns = last;
    return abi::error::success;
}

}  // namespace hipscope
