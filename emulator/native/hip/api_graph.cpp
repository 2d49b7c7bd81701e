// Graphs as a whole: making, wiring, cloning, running and updating them.
#include "hip/api_graph.hpp"

#include <algorithm>
#include <fstream>


namespace {

using namespace hipscope;
using abi::Error;

constexpr unsigned long long kAutoFreeOnLaunch = 1;
constexpr Error kOk = abi::error::success, kBad = abi::error::invalid_value;

/// HIP's way to return a list: the count alone when there is no room; nullptr behind the last one.
Error list(const std::vector<GraphNode*>& nodes, GraphNode** out, std::size_t* count) {
    if (count == nullptr) return fail(kBad);
    if (out != nullptr)
        for (std::size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i] : nullptr;
    *count = out == nullptr ? nodes.size() : std::min(*count, nodes.size());
    return kOk;
}

Error instantiate(Graph** exec, Graph* graph, unsigned long long flags) {
    Call call;
    if (exec == nullptr || known_graph(call.runtime, graph) == nullptr) return fail(kBad);
    if (graph->order().empty() && !graph->nodes.empty()) return fail(kBad);  // nodes that wait for each other
    auto made = graph->clone();
    made->flags = flags;
    *exec = made.get();
    call->executables[made.get()] = std::move(made);
    return kOk;
}

Error launch(Graph* exec, Stream* handle) {
    Call call;
    const auto found = call->executables.find(exec);
    Stream* stream = call->stream_of(handle);
    if (found == call->executables.end()) return fail(kBad);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    const auto graph = found->second;  // a host node may destroy it
    if ((graph->flags & kAutoFreeOnLaunch) != 0)
        for (const auto& node : graph->nodes)
            if (const auto* w = std::get_if<AllocateWork>(&node->work)) {
                call->disappears(w->memory->address);
                call->memory.take(w->memory->address);
            }
    return finish(submit(call.runtime, handle, ChildWork{graph}));
}

}  // namespace

Graph* hipscope::known_graph(Runtime& runtime, Graph* graph) {
    if (runtime.graphs.contains(graph)) return graph;
    for (const auto& weak : runtime.captures)  // a graph that is still being recorded
        if (const auto capture = weak.lock(); capture && capture->graph.get() == graph) return graph;
    return nullptr;
}

bool hipscope::alive(Runtime& runtime, const GraphNode* node) {
    if (node == nullptr) return false;
    const auto inside = [&](const auto& self, const Graph& graph) -> bool {
        for (const auto& n : graph.nodes) {
            if (n.get() == node) return true;
            if (const auto* child = std::get_if<ChildWork>(&n->work); child != nullptr && self(self, *child->graph)) return true;
        }
        return false;
    };
    for (const auto& [key, graph] : runtime.graphs)
        if (inside(inside, *graph)) return true;
    for (const auto& weak : runtime.captures)
        if (const auto capture = weak.lock(); capture && inside(inside, *capture->graph)) return true;
    return false;
}

HIPSCOPE_API Error hipGraphCreate(Graph** graph, unsigned flags) {
    Call call;
    if (graph == nullptr || flags != 0) return fail(kBad);
    auto made = std::make_shared<Graph>();
    *graph = made.get();
    call->graphs[made.get()] = std::move(made);
    return kOk;
}
HIPSCOPE_API Error hipGraphDestroy(Graph* graph) { return Call()->graphs.erase(graph) == 1 ? kOk : fail(kBad); }
HIPSCOPE_API Error hipGraphClone(Graph** out, Graph* graph) {
    Call call;
    if (out == nullptr || known_graph(call.runtime, graph) == nullptr) return fail(kBad);
    auto made = graph->clone();
    *out = made.get();
    call->graphs[made.get()] = std::move(made);
    return kOk;
}
HIPSCOPE_API Error hipGraphNodeFindInClone(GraphNode** out, GraphNode* original, Graph* clone) {
    Call call;
    if (out == nullptr || original == nullptr || known_graph(call.runtime, clone) == nullptr) return fail(kBad);
    *out = clone->copy_of(original);
    return *out == nullptr ? fail(kBad) : kOk;
}
HIPSCOPE_API Error hipGraphInstantiate(Graph** exec, Graph* graph, GraphNode**, char*, std::size_t) { return instantiate(exec, graph, 0); }
HIPSCOPE_API Error hipGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long flags) { return instantiate(exec, graph, flags); }
/// result: 0 done, 1 not.
HIPSCOPE_API Error hipGraphInstantiateWithParams(Graph** exec, Graph* graph, abi::GraphInstantiateParams* p) {
    if (p == nullptr) return fail(kBad);
    const Error e = instantiate(exec, graph, p->flags);
    p->culprit = nullptr;
    p->result = e == kOk ? 0 : 1;
    return e;
}
HIPSCOPE_API Error hipGraphExecGetFlags(Graph* exec, unsigned long long* flags) {
    Call call;
    if (!call->executables.contains(exec) || flags == nullptr) return fail(kBad);
    *flags = exec->flags;
    return kOk;
}
HIPSCOPE_API Error hipGraphUpload(Graph*, Stream*) { return kOk; }
HIPSCOPE_API Error hipGraphLaunch(Graph* exec, Stream* s) { return launch(exec, s); }
HIPSCOPE_API Error hipGraphLaunch_spt(Graph* exec, Stream* s) { return launch(exec, per_thread(s)); }
HIPSCOPE_API Error hipGraphExecDestroy(Graph* exec) { return Call()->executables.erase(exec) == 1 ? kOk : fail(kBad); }
/// result: 0 done, 2 another shape, 3 another kind of node.
HIPSCOPE_API Error hipGraphExecUpdate(Graph* exec, Graph* graph, GraphNode** culprit, int* result) {
    Call call;
    const auto found = call->executables.find(exec);
    if (found == call->executables.end() || known_graph(call.runtime, graph) == nullptr || result == nullptr) return fail(kBad);
    const auto place = [](const Graph& g, const GraphNode* n) {
        return std::find_if(g.nodes.begin(), g.nodes.end(), [n](const auto& m) { return m.get() == n; }) - g.nodes.begin();
    };
    Graph& old = *found->second;
    *result = old.nodes.size() == graph->nodes.size() ? 0 : 2;
    for (std::size_t i = 0; *result == 0 && i < old.nodes.size(); ++i) {
        const GraphNode& a = *old.nodes[i];
        const GraphNode& b = *graph->nodes[i];
        if (a.work.index() != b.work.index()) *result = 3;
        bool same = a.before.size() == b.before.size();
        for (std::size_t k = 0; same && k < a.before.size(); ++k) same = place(old, a.before[k]) == place(*graph, b.before[k]);
        if (!same) *result = 2;
        if (*result != 0 && culprit != nullptr) *culprit = graph->nodes[i].get();
    }
    if (*result != 0) return fail(abi::error::graph_update_failure);
    for (std::size_t i = 0; i < old.nodes.size(); ++i) old.nodes[i]->work = graph->nodes[i]->work;
    return kOk;
}

HIPSCOPE_API Error hipGraphAddDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to, std::size_t count) {
    Call call;
    if (known_graph(call.runtime, graph) == nullptr || (count > 0 && (from == nullptr || to == nullptr))) return fail(kBad);
    for (std::size_t i = 0; i < count; ++i) {
        if (!graph->holds(from[i]) || !graph->holds(to[i]) || from[i] == to[i]) return fail(kBad);
        auto& before = to[i]->before;
        if (std::find(before.begin(), before.end(), from[i]) != before.end()) return fail(kBad);
        before.push_back(from[i]);
    }
    return kOk;
}
HIPSCOPE_API Error hipGraphRemoveDependencies(Graph* graph, GraphNode* const* from, GraphNode* const* to, std::size_t count) {
    Call call;
    if (known_graph(call.runtime, graph) == nullptr || (count > 0 && (from == nullptr || to == nullptr))) return fail(kBad);
    for (std::size_t i = 0; i < count; ++i)
        if (!graph->holds(to[i]) || std::erase(to[i]->before, from[i]) == 0) return fail(kBad);
    return kOk;
}
HIPSCOPE_API Error hipGraphGetNodes(Graph* graph, GraphNode** out, std::size_t* count) {
    Call call;
    if (known_graph(call.runtime, graph) == nullptr) return fail(kBad);
    std::vector<GraphNode*> nodes;
    for (const auto& node : graph->nodes) nodes.push_back(node.get());
    return list(nodes, out, count);
}
HIPSCOPE_API Error hipGraphGetRootNodes(Graph* graph, GraphNode** out, std::size_t* count) {
    Call call;
    if (known_graph(call.runtime, graph) == nullptr) return fail(kBad);
    std::vector<GraphNode*> nodes;
    for (const auto& node : graph->nodes)
        if (node->before.empty()) nodes.push_back(node.get());
    return list(nodes, out, count);
}
HIPSCOPE_API Error hipGraphGetEdges(Graph* graph, GraphNode** from, GraphNode** to, std::size_t* count) {
    Call call;
    if (known_graph(call.runtime, graph) == nullptr || count == nullptr) return fail(kBad);
    std::vector<GraphNode*> ends[2];
    for (const auto& node : graph->nodes)
        for (GraphNode* b : node->before) {
            ends[0].push_back(b);
            ends[1].push_back(node.get());
        }
    std::size_t room = *count;
    list(ends[0], from, &room);
    return list(ends[1], to, count);
}
HIPSCOPE_API Error hipGraphNodeGetDependencies(GraphNode* node, GraphNode** out, std::size_t* count) {
    Call call;
    return alive(call.runtime, node) ? list(node->before, out, count) : fail(kBad);
}
HIPSCOPE_API Error hipGraphNodeGetDependentNodes(GraphNode* node, GraphNode** out, std::size_t* count) {
    Call call;
    if (!alive(call.runtime, node)) return fail(kBad);
    std::vector<GraphNode*> nodes;
    for (const auto& n : node->graph->nodes)
        if (std::find(n->before.begin(), n->before.end(), node) != n->before.end()) nodes.push_back(n.get());
    return list(nodes, out, count);
}
HIPSCOPE_API Error hipGraphDestroyNode(GraphNode* node) {
    Call call;
    if (!alive(call.runtime, node)) return fail(kBad);
    Graph* graph = node->graph;
    for (const auto& n : graph->nodes) std::erase(n->before, node);
    std::erase_if(graph->nodes, [node](const auto& n) { return n.get() == node; });
    return kOk;
}

// Objects of the program that graphs keep alive.
HIPSCOPE_API Error hipUserObjectCreate(UserObject** object, void* pointer, void (*destroy)(void*), unsigned count, unsigned flags) {
    constexpr unsigned no_destructor_sync = 1;  // the only flag, and required
    if (object == nullptr || destroy == nullptr || count == 0 || flags != no_destructor_sync) return fail(kBad);
    auto made = std::make_shared<UserObject>(pointer, destroy);
    *object = made.get();
    Call()->user_objects[made.get()].assign(count, made);
    return kOk;
}
HIPSCOPE_API Error hipUserObjectRetain(UserObject* object, unsigned count) {
    Call call;
    const auto found = call->user_objects.find(object);
    if (found == call->user_objects.end() || count == 0) return fail(kBad);
    found->second.insert(found->second.end(), count, found->second.front());
    return kOk;
}
HIPSCOPE_API Error hipUserObjectRelease(UserObject* object, unsigned count) {
    Call call;
    const auto found = call->user_objects.find(object);
    if (found == call->user_objects.end() || count == 0 || count > found->second.size()) return fail(kBad);
    found->second.resize(found->second.size() - count);
    if (found->second.empty()) call->user_objects.erase(found);
    return kOk;
}
/// flags 1: the program's own references move to the graph.
HIPSCOPE_API Error hipGraphRetainUserObject(Graph* graph, UserObject* object, unsigned count, unsigned flags) {
    Call call;
    const auto found = call->user_objects.find(object);
    if (known_graph(call.runtime, graph) == nullptr || found == call->user_objects.end() || count == 0 || flags > 1) return fail(kBad);
    graph->objects.insert(graph->objects.end(), count, found->second.front());
    return flags == 1 ? hipUserObjectRelease(object, count) : kOk;
}
HIPSCOPE_API Error hipGraphReleaseUserObject(Graph* graph, UserObject* object, unsigned count) {
    Call call;
    if (known_graph(call.runtime, graph) == nullptr) return fail(kBad);
    const auto is_it = [object](const auto& held) { return held.get() == object; };
    auto& held = graph->objects;
    if (std::count_if(held.begin(), held.end(), is_it) < static_cast<std::ptrdiff_t>(count)) return fail(kBad);
    for (unsigned i = 0; i < count; ++i) held.erase(std::find_if(held.begin(), held.end(), is_it));
    return kOk;
}

/// A picture for Graphviz.
HIPSCOPE_API Error hipGraphDebugDotPrint(Graph* graph, const char* path, unsigned) {
    Call call;
    if (known_graph(call.runtime, graph) == nullptr || path == nullptr) return fail(kBad);
    constexpr const char* kinds[] = {"kernel", "copy", "fill", "host", "graph", "empty", "wait", "record", "allocate", "free"};
    std::map<const GraphNode*, std::size_t> numbers;
    std::ofstream file(path);
    file << "digraph {\n";
    for (const auto& node : graph->nodes) {
        const std::size_t number = numbers[node.get()] = numbers.size();
        const auto* kernel = std::get_if<KernelWork>(&node->work);
        file << "  n" << number << " [label=\"" << kinds[node->work.index()] << (kernel == nullptr ? "" : " " + kernel->function->name) << "\"]\n";
    }
    for (const auto& node : graph->nodes)
        for (const GraphNode* before : node->before) file << "  n" << numbers[before] << " -> n" << numbers[node.get()] << "\n";
    file << "}\n";
    return file ? kOk : fail(abi::error::file_not_found);
}

/// hipGraphMemAttributeType: bytes in use now and at most, reserved now and at most.
HIPSCOPE_API Error hipDeviceGetGraphMemAttribute(int device, int which, std::uint64_t* value) {
    Call call;
    if (device != 0) return fail(abi::error::invalid_device);
    if (value == nullptr || which < 0 || which > 3) return fail(kBad);
    *value = (which & 1) == 0 ? call->graph_bytes() : call->graph_bytes_high;
    return kOk;
}
HIPSCOPE_API Error hipDeviceSetGraphMemAttribute(int device, int which, const std::uint64_t* value) {
    Call call;
    if (device != 0) return fail(abi::error::invalid_device);
    if (value == nullptr || *value != 0 || (which != 1 && which != 3)) return fail(kBad);  // a high-water mark, to 0
    call->graph_bytes_high = call->graph_bytes();
    return kOk;
}
HIPSCOPE_API Error hipDeviceGraphMemTrim(int device) { return device == 0 ? kOk : fail(abi::error::invalid_device); }
