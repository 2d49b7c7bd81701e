// Stream capture: recording what is put into streams as a graph.
#include <algorithm>

#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Error;

enum Status { none, active, invalidated };

/// `graph`: the one to record into, a new one when empty. The first nodes come after `before`.
Error begin(Stream* handle, int mode, std::shared_ptr<Graph> graph = nullptr, std::vector<GraphNode*> before = {}) {
    Call call;
    Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (mode < 0 || mode > 2) return fail(abi::error::invalid_value);
    if (stream == &call->legacy) return fail(abi::error::stream_capture_unsupported);
    if (stream->capture) return fail(abi::error::illegal_state);
    auto capture = std::make_shared<StreamCapture>();
    capture->origin = stream;
    capture->mode = mode;
    capture->id = ++call->captures_begun;
    if (graph != nullptr) capture->graph = std::move(graph);
    capture->first = capture->graph->nodes.size();
    stream->capture = capture;
    stream->tail = std::move(before);
    std::erase_if(call->captures, [](const auto& c) { return c.expired(); });
    call->captures.push_back(capture);
    return abi::error::success;
}

/// Every recorded node must lie before one that the origin waits for: else another stream has not come back.
bool joined(const Graph& graph, std::size_t first, const std::vector<GraphNode*>& tail) {
    std::set<const GraphNode*> seen(tail.begin(), tail.end());
    std::vector<const GraphNode*> open(tail.begin(), tail.end());
    while (!open.empty()) {
        const GraphNode* node = open.back();
        open.pop_back();
        for (const GraphNode* b : node->before)
            if (seen.insert(b).second) open.push_back(b);
    }
    return std::all_of(graph.nodes.begin() + static_cast<std::ptrdiff_t>(first), graph.nodes.end(), [&](const auto& node) { return seen.contains(node.get()); });
}

Error end(Stream* handle, Graph** graph) {
    Call call;
    Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (graph == nullptr) return fail(abi::error::invalid_value);
    *graph = nullptr;
    if (!stream->capture) return fail(abi::error::illegal_state);
    const auto capture = stream->capture;
    if (capture->origin != stream) return fail(abi::error::stream_capture_unmatched);
    if (capture->mode != 2 && capture->thread != std::this_thread::get_id()) return fail(abi::error::stream_capture_wrong_thread);
    const bool whole = joined(*capture->graph, capture->first, stream->tail);
    for (Stream* other : capture->joined) {
        other->capture.reset();
        other->tail.clear();
    }
    stream->capture.reset();
    stream->tail.clear();
    capture->origin = nullptr;
    const bool invalid = capture->invalid;
    capture->invalid = true;  // events that were recorded in it stand for nothing any more
    if (invalid) return fail(abi::error::stream_capture_invalidated);
    if (!whole) return fail(abi::error::stream_capture_unjoined);
    call->graphs[capture->graph.get()] = capture->graph;
    *graph = capture->graph.get();
    return abi::error::success;
}

Status status_of(const Stream& stream) { return !stream.capture ? none : stream.capture->invalid ? invalidated : active; }

}  // namespace

HIPSCOPE_API Error hipStreamBeginCapture(Stream* s, int mode) { return begin(s, mode); }
HIPSCOPE_API Error hipStreamBeginCapture_spt(Stream* s, int mode) { return begin(per_thread(s), mode); }
HIPSCOPE_API Error hipStreamBeginCaptureToGraph(Stream* s, Graph* graph, GraphNode* const* before, const void* edges, std::size_t count, int mode) {
    Call call;
    const auto found = call->graphs.find(graph);
    if (found == call->graphs.end() || edges != nullptr || (count > 0 && before == nullptr)) return fail(abi::error::invalid_value);
    for (std::size_t i = 0; i < count; ++i)
        if (!graph->holds(before[i])) return fail(abi::error::invalid_value);
    return begin(s, mode, found->second, {before, before + count});
}
HIPSCOPE_API Error hipStreamEndCapture(Stream* s, Graph** graph) { return end(s, graph); }
HIPSCOPE_API Error hipStreamEndCapture_spt(Stream* s, Graph** graph) { return end(per_thread(s), graph); }
HIPSCOPE_API Error hipStreamIsCapturing(Stream* s, int* status) {
    Call call;
    const Stream* stream = call->stream_of(s);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (status == nullptr) return fail(abi::error::invalid_value);
    *status = status_of(*stream);
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamGetCaptureInfo_v2(Stream* s, int* status, unsigned long long* id, Graph** graph, GraphNode*** tail, std::size_t* count) {
    Call call;
    Stream* stream = call->stream_of(s);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (status == nullptr) return fail(abi::error::invalid_value);
    *status = status_of(*stream);
    if (*status != active) return abi::error::success;
    if (id != nullptr) *id = stream->capture->id;
    if (graph != nullptr) *graph = stream->capture->graph.get();
    if (tail != nullptr) *tail = stream->tail.data();
    if (count != nullptr) *count = stream->tail.size();
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamGetCaptureInfo(Stream* s, int* status, unsigned long long* id) {
    return hipStreamGetCaptureInfo_v2(s, status, id, nullptr, nullptr, nullptr);
}
HIPSCOPE_API Error hipStreamIsCapturing_spt(Stream* s, int* status) { return hipStreamIsCapturing(per_thread(s), status); }
HIPSCOPE_API Error hipStreamGetCaptureInfo_spt(Stream* s, int* status, unsigned long long* id) { return hipStreamGetCaptureInfo(per_thread(s), status, id); }
HIPSCOPE_API Error hipStreamGetCaptureInfo_v2_spt(Stream* s, int* status, unsigned long long* id, Graph** graph, GraphNode*** tail, std::size_t* count) {
    return hipStreamGetCaptureInfo_v2(per_thread(s), status, id, graph, tail, count);
}
/// flags 0: wait for these nodes too; 1: for these only.
HIPSCOPE_API Error hipStreamUpdateCaptureDependencies(Stream* s, GraphNode** nodes, std::size_t count, unsigned flags) {
    Call call;
    Stream* stream = call->stream_of(s);
    if (stream == nullptr || (count > 0 && nodes == nullptr) || flags > 1) return fail(abi::error::invalid_value);
    if (!stream->capture) return fail(abi::error::illegal_state);
    for (std::size_t i = 0; i < count; ++i)
        if (!stream->capture->graph->holds(nodes[i])) return fail(abi::error::invalid_value);
    if (flags == 1) stream->tail.clear();
    for (std::size_t i = 0; i < count; ++i)
        if (std::find(stream->tail.begin(), stream->tail.end(), nodes[i]) == stream->tail.end()) stream->tail.push_back(nodes[i]);
    return abi::error::success;
}
HIPSCOPE_API Error hipThreadExchangeStreamCaptureMode(int* mode) {
    if (mode == nullptr || *mode < 0 || *mode > 2) return fail(abi::error::invalid_value);
    std::swap(thread_capture_mode, *mode);
    return abi::error::success;
}
