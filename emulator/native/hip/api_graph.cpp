// Graphs: making, changing and running them.
#include <algorithm>

#include "hip/api.hpp"
#include "hip/version.hpp"

namespace {

using namespace hipscope;
using abi::Error;

constexpr Error kOk = abi::error::success, kBad = abi::error::invalid_value;

Graph* known(Runtime& runtime, Graph* graph) {
    if (runtime.graphs.contains(graph)) return graph;
    for (const auto& weak : runtime.captures)  // a graph that is still being recorded
        if (const auto capture = weak.lock(); capture && capture->graph.get() == graph) return graph;
    return nullptr;
}

/// Nodes live as long as their graph, which must be a known one (or part of one).
bool alive(Runtime& runtime, const GraphNode* node) {
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

Error add(GraphNode** out, Graph* graph, GraphNode* const* before, std::size_t count, Work work) {
    Call call;
    if (out == nullptr || known(call.runtime, graph) == nullptr || (count > 0 && before == nullptr)) return fail(kBad);
    std::vector<GraphNode*> nodes;
    for (std::size_t i = 0; i < count; ++i) {
        if (!graph->holds(before[i]) || std::find(nodes.begin(), nodes.end(), before[i]) != nodes.end()) return fail(kBad);
        nodes.push_back(before[i]);
    }
    *out = graph->add(std::move(work), std::move(nodes));
    return kOk;
}

/// The kernel that a node names: the stub of a kernel, or a function of a module.
Function* kernel_of(Runtime& runtime, void* handle) {
    const auto stub = runtime.functions.find(handle);
    Function* function = stub != runtime.functions.end() ? &stub->second : runtime.is_function(handle) ? static_cast<Function*>(handle) : nullptr;
    return function != nullptr && runtime.resolve(*function) ? function : nullptr;
}

Error make(Runtime& runtime, const abi::KernelNodeParams* p, Work& work) {
    if (p == nullptr || p->function == nullptr) return kBad;
    Function* function = kernel_of(runtime, p->function);
    if (function == nullptr) return abi::error::invalid_device_function;
    const auto packed = packed_arguments(p->extra);
    if (p->arguments == nullptr && packed.empty() && function->kernel->explicit_bytes() > 0) return kBad;
    work = KernelWork{function, p->function, p->grid, p->workgroup, p->dynamic_lds, runtime.pack(*function->kernel, p->arguments, packed), false, {}};
    return kOk;
}
Error make(Runtime& runtime, const abi::Memcpy3DParms* p, Work& work) {
    if (p == nullptr) return kBad;
    if (p->src_array != nullptr || p->dst_array != nullptr) {
        runtime.say_unsupported("a graph's copy with arrays");
        return abi::error::not_supported;
    }
    work = CopyWork{*p};
    return kOk;
}
Error make(Runtime&, const abi::MemsetParams* p, Work& work) {
    if (p == nullptr || (p->element_size != 1 && p->element_size != 2 && p->element_size != 4)) return kBad;
    work = FillWork{*p};
    return kOk;
}
Error make(Runtime&, const abi::HostNodeParams* p, Work& work) {
    if (p == nullptr || p->function == nullptr) return kBad;
    work = HostWork{p->function, p->data};
    return kOk;
}

template <class Params>
Error add_made(GraphNode** out, Graph* graph, GraphNode* const* before, std::size_t count, const Params* p) {
    Call call;
    Work work;
    if (const Error e = make(call.runtime, p, work); e != kOk) return fail(e);
    return add(out, graph, before, count, std::move(work));
}

/// Replace the work of a node by work of the same kind.
Error set(GraphNode* node, Work work) {
    Call call;
    if (!alive(call.runtime, node) || node->work.index() != work.index()) return fail(kBad);
    node->work = std::move(work);
    return kOk;
}
template <class Params>
Error set_made(GraphNode* node, const Params* p) {
    Call call;
    Work work;
    if (const Error e = make(call.runtime, p, work); e != kOk) return fail(e);
    return set(node, std::move(work));
}

/// The same in an executable graph, whose nodes are named by those they were made from.
Error set_exec(Graph* exec, GraphNode* original, Work work) {
    Call call;
    const auto found = call->executables.find(exec);
    GraphNode* node = found == call->executables.end() ? nullptr : found->second->copy_of(original);
    if (node == nullptr || node->work.index() != work.index()) return fail(kBad);
    node->work = std::move(work);
    return kOk;
}
template <class Params>
Error set_exec_made(Graph* exec, GraphNode* node, const Params* p) {
    Call call;
    Work work;
    if (const Error e = make(call.runtime, p, work); e != kOk) return fail(e);
    return set_exec(exec, node, std::move(work));
}

template <class Kind>
Kind* get(GraphNode* node) {
    Call call;
    return alive(call.runtime, node) ? std::get_if<Kind>(&node->work) : nullptr;
}

/// HIP's way to return a list: the count alone when there is no room; nullptr behind the last one.
Error list(const std::vector<GraphNode*>& nodes, GraphNode** out, std::size_t* count) {
    if (count == nullptr) return fail(kBad);
    if (out != nullptr)
        for (std::size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i] : nullptr;
    *count = out == nullptr ? nodes.size() : std::min(*count, nodes.size());
    return kOk;
}

/// A copy between memory and a variable, as plain copy work.
Error symbol_copy(void* memory, const void* symbol, std::size_t bytes, std::size_t offset, int kind, bool to_symbol, Work& work) {
    Call call;
    std::uint64_t address = 0;
    std::size_t size = 0;
    if (const Error e = symbol_range(call.runtime, symbol, address, size); e != kOk) return e;
    if (offset > size || bytes > size - offset) return kBad;
    void* variable = pointer_to(address + offset);
    work = to_symbol ? copy_work(variable, memory, bytes, kind) : copy_work(memory, variable, bytes, kind);
    return kOk;
}

Error instantiate(Graph** exec, Graph* graph) {
    Call call;
    if (exec == nullptr || known(call.runtime, graph) == nullptr) return fail(kBad);
    if (graph->order().empty() && !graph->nodes.empty()) return fail(kBad);  // nodes that wait for each other
    auto made = graph->clone();
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
    return finish(submit(call.runtime, handle, ChildWork{graph}));
}

}  // namespace

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
    if (out == nullptr || known(call.runtime, graph) == nullptr) return fail(kBad);
    auto made = graph->clone();
    *out = made.get();
    call->graphs[made.get()] = std::move(made);
    return kOk;
}
HIPSCOPE_API Error hipGraphNodeFindInClone(GraphNode** out, GraphNode* original, Graph* clone) {
    Call call;
    if (out == nullptr || original == nullptr || known(call.runtime, clone) == nullptr) return fail(kBad);
    *out = clone->copy_of(original);
    return *out == nullptr ? fail(kBad) : kOk;
}
HIPSCOPE_API Error hipGraphInstantiate(Graph** exec, Graph* graph, GraphNode**, char*, std::size_t) { return instantiate(exec, graph); }
HIPSCOPE_API Error hipGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long) { return instantiate(exec, graph); }
HIPSCOPE_API Error hipGraphUpload(Graph*, Stream*) { return kOk; }
HIPSCOPE_API Error hipGraphLaunch(Graph* exec, Stream* s) { return launch(exec, s); }
HIPSCOPE_API Error hipGraphLaunch_spt(Graph* exec, Stream* s) { return launch(exec, per_thread(s)); }
HIPSCOPE_API Error hipGraphExecDestroy(Graph* exec) { return Call()->executables.erase(exec) == 1 ? kOk : fail(kBad); }
/// result: 0 done, 2 another shape, 3 another kind of node.
HIPSCOPE_API Error hipGraphExecUpdate(Graph* exec, Graph* graph, GraphNode** culprit, int* result) {
    Call call;
    const auto found = call->executables.find(exec);
    if (found == call->executables.end() || known(call.runtime, graph) == nullptr || result == nullptr) return fail(kBad);
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
    if (known(call.runtime, graph) == nullptr || (count > 0 && (from == nullptr || to == nullptr))) return fail(kBad);
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
    if (known(call.runtime, graph) == nullptr || (count > 0 && (from == nullptr || to == nullptr))) return fail(kBad);
    for (std::size_t i = 0; i < count; ++i)
        if (!graph->holds(to[i]) || std::erase(to[i]->before, from[i]) == 0) return fail(kBad);
    return kOk;
}
HIPSCOPE_API Error hipGraphGetNodes(Graph* graph, GraphNode** out, std::size_t* count) {
    Call call;
    if (known(call.runtime, graph) == nullptr) return fail(kBad);
    std::vector<GraphNode*> nodes;
    for (const auto& node : graph->nodes) nodes.push_back(node.get());
    return list(nodes, out, count);
}
HIPSCOPE_API Error hipGraphGetRootNodes(Graph* graph, GraphNode** out, std::size_t* count) {
    Call call;
    if (known(call.runtime, graph) == nullptr) return fail(kBad);
    std::vector<GraphNode*> nodes;
    for (const auto& node : graph->nodes)
        if (node->before.empty()) nodes.push_back(node.get());
    return list(nodes, out, count);
}
HIPSCOPE_API Error hipGraphGetEdges(Graph* graph, GraphNode** from, GraphNode** to, std::size_t* count) {
    Call call;
    if (known(call.runtime, graph) == nullptr || count == nullptr) return fail(kBad);
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
HIPSCOPE_API Error hipGraphNodeGetType(GraphNode* node, int* type) {
    Call call;
    if (type == nullptr || !alive(call.runtime, node)) return fail(kBad);
    *type = static_cast<int>(node->work.index()) + (hip_major_version() < 6 ? 1 : 0);  // numbered from 1 before HIP 6
    return kOk;
}
HIPSCOPE_API Error hipGraphDestroyNode(GraphNode* node) {
    Call call;
    if (!alive(call.runtime, node)) return fail(kBad);
    Graph* graph = node->graph;
    for (const auto& n : graph->nodes) std::erase(n->before, node);
    std::erase_if(graph->nodes, [node](const auto& n) { return n.get() == node; });
    return kOk;
}

HIPSCOPE_API Error hipGraphAddKernelNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::KernelNodeParams* p) {
    return add_made(out, g, before, n, p);
}
HIPSCOPE_API Error hipGraphKernelNodeGetParams(GraphNode* node, abi::KernelNodeParams* p) {
    Call call;
    auto* w = get<KernelWork>(node);
    if (w == nullptr || p == nullptr) return fail(kBad);
    w->pointers.clear();
    for (const KernelArgument& a : w->function->kernel->arguments)
        if (!a.value_kind.starts_with("hidden_")) w->pointers.push_back(w->kernarg.data() + a.offset);
    *p = {w->workgroup, nullptr, w->handle, w->grid, w->pointers.data(), w->dynamic_lds};
    return kOk;
}
HIPSCOPE_API Error hipGraphKernelNodeSetParams(GraphNode* node, const abi::KernelNodeParams* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecKernelNodeSetParams(Graph* exec, GraphNode* node, const abi::KernelNodeParams* p) { return set_exec_made(exec, node, p); }

HIPSCOPE_API Error hipGraphAddMemcpyNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::Memcpy3DParms* p) {
    return add_made(out, g, before, n, p);
}
HIPSCOPE_API Error hipGraphMemcpyNodeGetParams(GraphNode* node, abi::Memcpy3DParms* p) {
    const auto* w = get<CopyWork>(node);
    if (w == nullptr || p == nullptr) return fail(kBad);
    *p = w->p;
    return kOk;
}
HIPSCOPE_API Error hipGraphMemcpyNodeSetParams(GraphNode* node, const abi::Memcpy3DParms* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecMemcpyNodeSetParams(Graph* exec, GraphNode* node, const abi::Memcpy3DParms* p) { return set_exec_made(exec, node, p); }
HIPSCOPE_API Error hipGraphAddMemcpyNode1D(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, void* to, const void* from, std::size_t bytes, int kind) {
    return to == nullptr || from == nullptr ? fail(kBad) : add(out, g, before, n, copy_work(to, from, bytes, kind));
}
HIPSCOPE_API Error hipGraphMemcpyNodeSetParams1D(GraphNode* node, void* to, const void* from, std::size_t bytes, int kind) {
    return set(node, copy_work(to, from, bytes, kind));
}
HIPSCOPE_API Error hipGraphExecMemcpyNodeSetParams1D(Graph* exec, GraphNode* node, void* to, const void* from, std::size_t bytes, int kind) {
    return set_exec(exec, node, copy_work(to, from, bytes, kind));
}
HIPSCOPE_API Error hipGraphAddMemcpyNodeFromSymbol(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
    Work work;
    const Error e = symbol_copy(to, symbol, bytes, offset, kind, false, work);
    return e == kOk ? add(out, g, before, n, std::move(work)) : fail(e);
}
HIPSCOPE_API Error hipGraphMemcpyNodeSetParamsFromSymbol(GraphNode* node, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
    Work work;
    const Error e = symbol_copy(to, symbol, bytes, offset, kind, false, work);
    return e == kOk ? set(node, std::move(work)) : fail(e);
}
HIPSCOPE_API Error hipGraphExecMemcpyNodeSetParamsFromSymbol(Graph* exec, GraphNode* node, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
    Work work;
    const Error e = symbol_copy(to, symbol, bytes, offset, kind, false, work);
    return e == kOk ? set_exec(exec, node, std::move(work)) : fail(e);
}
HIPSCOPE_API Error hipGraphAddMemcpyNodeToSymbol(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
    Work work;
    const Error e = symbol_copy(const_cast<void*>(from), symbol, bytes, offset, kind, true, work);
    return e == kOk ? add(out, g, before, n, std::move(work)) : fail(e);
}
HIPSCOPE_API Error hipGraphMemcpyNodeSetParamsToSymbol(GraphNode* node, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
    Work work;
    const Error e = symbol_copy(const_cast<void*>(from), symbol, bytes, offset, kind, true, work);
    return e == kOk ? set(node, std::move(work)) : fail(e);
}
HIPSCOPE_API Error hipGraphExecMemcpyNodeSetParamsToSymbol(Graph* exec, GraphNode* node, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
    Work work;
    const Error e = symbol_copy(const_cast<void*>(from), symbol, bytes, offset, kind, true, work);
    return e == kOk ? set_exec(exec, node, std::move(work)) : fail(e);
}

HIPSCOPE_API Error hipGraphAddMemsetNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::MemsetParams* p) {
    return add_made(out, g, before, n, p);
}
HIPSCOPE_API Error hipGraphMemsetNodeGetParams(GraphNode* node, abi::MemsetParams* p) {
    const auto* w = get<FillWork>(node);
    if (w == nullptr || p == nullptr) return fail(kBad);
    *p = w->p;
    return kOk;
}
HIPSCOPE_API Error hipGraphMemsetNodeSetParams(GraphNode* node, const abi::MemsetParams* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecMemsetNodeSetParams(Graph* exec, GraphNode* node, const abi::MemsetParams* p) { return set_exec_made(exec, node, p); }

HIPSCOPE_API Error hipGraphAddHostNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::HostNodeParams* p) {
    return add_made(out, g, before, n, p);
}
HIPSCOPE_API Error hipGraphHostNodeGetParams(GraphNode* node, abi::HostNodeParams* p) {
    const auto* w = get<HostWork>(node);
    if (w == nullptr || p == nullptr) return fail(kBad);
    *p = {w->function, w->data};
    return kOk;
}
HIPSCOPE_API Error hipGraphHostNodeSetParams(GraphNode* node, const abi::HostNodeParams* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecHostNodeSetParams(Graph* exec, GraphNode* node, const abi::HostNodeParams* p) { return set_exec_made(exec, node, p); }

HIPSCOPE_API Error hipGraphAddEmptyNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n) { return add(out, g, before, n, EmptyWork{}); }

HIPSCOPE_API Error hipGraphAddChildGraphNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, Graph* child) {
    Call call;
    return known(call.runtime, child) == nullptr || child == g ? fail(kBad) : add(out, g, before, n, ChildWork{child->clone()});
}
HIPSCOPE_API Error hipGraphChildGraphNodeGetGraph(GraphNode* node, Graph** child) {
    const auto* w = get<ChildWork>(node);
    if (w == nullptr || child == nullptr) return fail(kBad);
    *child = w->graph.get();
    return kOk;
}
HIPSCOPE_API Error hipGraphExecChildGraphNodeSetParams(Graph* exec, GraphNode* node, Graph* child) {
    Call call;
    return known(call.runtime, child) == nullptr ? fail(kBad) : set_exec(exec, node, ChildWork{child->clone()});
}

HIPSCOPE_API Error hipGraphAddEventRecordNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, Event* e) {
    Call call;
    return call->events.contains(e) ? add(out, g, before, n, RecordWork{e}) : fail(kBad);
}
HIPSCOPE_API Error hipGraphEventRecordNodeGetEvent(GraphNode* node, Event** e) {
    const auto* w = get<RecordWork>(node);
    if (w == nullptr || e == nullptr) return fail(kBad);
    *e = w->event;
    return kOk;
}
HIPSCOPE_API Error hipGraphEventRecordNodeSetEvent(GraphNode* node, Event* e) { return set(node, RecordWork{e}); }
HIPSCOPE_API Error hipGraphExecEventRecordNodeSetEvent(Graph* exec, GraphNode* node, Event* e) { return set_exec(exec, node, RecordWork{e}); }
HIPSCOPE_API Error hipGraphAddEventWaitNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, Event* e) {
    Call call;
    return call->events.contains(e) ? add(out, g, before, n, WaitWork{e}) : fail(kBad);
}
HIPSCOPE_API Error hipGraphEventWaitNodeGetEvent(GraphNode* node, Event** e) {
    const auto* w = get<WaitWork>(node);
    if (w == nullptr || e == nullptr) return fail(kBad);
    *e = w->event;
    return kOk;
}
HIPSCOPE_API Error hipGraphEventWaitNodeSetEvent(GraphNode* node, Event* e) { return set(node, WaitWork{e}); }
HIPSCOPE_API Error hipGraphExecEventWaitNodeSetEvent(Graph* exec, GraphNode* node, Event* e) { return set_exec(exec, node, WaitWork{e}); }
