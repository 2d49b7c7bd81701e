// The nodes of graphs, by kind: adding them, reading and changing what they do.
#include "hip/api_graph.hpp"

#include <algorithm>

#include "hip/copies.hpp"
#include "hip/version.hpp"

namespace {

using namespace hipscope;
using abi::Error;

constexpr int kAllocateNode = 10, kFreeNode = 11;  // of hipGraphNodeType
constexpr unsigned kAccessPolicy = 1;              // of hipKernelNodeAttrID, a hint for caches
constexpr Error kOk = abi::error::success, kBad = abi::error::invalid_value;

Error add(GraphNode** out, Graph* graph, GraphNode* const* before, std::size_t count, Work work) {
    Call call;
    if (out == nullptr || known_graph(call.runtime, graph) == nullptr || (count > 0 && before == nullptr)) return fail(kBad);
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

Error make(Runtime& runtime, const abi::DriverMemcpy3D* p, Work& work) {
    const auto copy = driver_copy(runtime, p);
    if (!copy) return p == nullptr ? kBad : abi::error::not_supported;
    work = *copy;
    return kOk;
}
Error make(Runtime& runtime, const abi::DriverMemsetParams* p, Work& work) {
    if (p == nullptr) return kBad;
    const abi::MemsetParams same{p->dst, p->element_size, p->height, p->pitch, p->value, p->width};
    return make(runtime, &same, work);
}
Error make(Runtime& runtime, abi::MemAllocNodeParams* p, Work& work) {
    if (p == nullptr || p->pool.location_type != abi::kLocationDevice || p->pool.location_id != 0) return kBad;
    auto memory = GraphMemory::make(runtime, p->bytes);
    if (memory == nullptr) return abi::error::out_of_memory;
    p->pointer = pointer_to(memory->address);
    work = AllocateWork{std::move(memory)};
    return kOk;
}
Error make(Runtime& runtime, Event* event, Work& work, bool record) {
    if (!runtime.events.contains(event)) return kBad;
    work = record ? Work(RecordWork{event}) : Work(WaitWork{event});
    return kOk;
}
Error make(Runtime& runtime, Graph* child, Work& work) {
    if (known_graph(runtime, child) == nullptr) return kBad;
    work = ChildWork{child->clone()};
    return kOk;
}
/// Any kind of node, by its number of HIP 6.
Error make(Runtime& runtime, abi::GraphNodeParams* p, Work& work) {
    if (p == nullptr) return kBad;
    switch (p->type) {
        case 0: return make(runtime, &p->kernel, work);
        case 1: return make(runtime, &p->copy.params, work);
        case 2: return make(runtime, &p->fill, work);
        case 3: return make(runtime, &p->host, work);
        case 4: return make(runtime, p->child, work);
        case 5: work = EmptyWork{}; return kOk;
        case 6: return make(runtime, p->event, work, false);
        case 7: return make(runtime, p->event, work, true);
        case kAllocateNode: return make(runtime, &p->allocation, work);
        case kFreeNode: work = FreeWork{p->pointer}; return kOk;
        default: runtime.say_unsupported("a graph node of this type"); return abi::error::not_supported;
    }
}

template <class Params>
Error add_made(GraphNode** out, Graph* graph, GraphNode* const* before, std::size_t count, Params* p) {
    Call call;
    Work work;
    if (const Error e = make(call.runtime, p, work); e != kOk) return fail(e);
    return add(out, graph, before, count, std::move(work));
}

/// The node of an executable graph that was made from `original`, nullptr when there is none.
GraphNode* node_of(Runtime& runtime, Graph* exec, const GraphNode* original) {
    const auto found = runtime.executables.find(exec);
    return found == runtime.executables.end() ? nullptr : found->second->copy_of(original);
}

/// Replace the work of a node by work of the same kind.
Error set(GraphNode* node, Work work) {
    Call call;
    if (!alive(call.runtime, node) || node->work.index() != work.index()) return fail(kBad);
    node->work = std::move(work);
    return kOk;
}
template <class Params>
Error set_made(GraphNode* node, Params* p) {
    Call call;
    Work work;
    if (const Error e = make(call.runtime, p, work); e != kOk) return fail(e);
    return set(node, std::move(work));
}

/// The same in an executable graph, whose nodes are named by those they were made from.
Error set_exec(Graph* exec, GraphNode* original, Work work) {
    Call call;
    GraphNode* node = node_of(call.runtime, exec, original);
    if (node == nullptr || node->work.index() != work.index()) return fail(kBad);
    node->work = std::move(work);
    return kOk;
}
template <class Params>
Error set_exec_made(Graph* exec, GraphNode* node, Params* p) {
    Call call;
    Work work;
    if (const Error e = make(call.runtime, p, work); e != kOk) return fail(e);
    return set_exec(exec, node, std::move(work));
}

/// `tell` writes what a node of this kind does into the caller's struct.
template <class Kind, class Params, class Tell>
Error read(GraphNode* node, Params* out, Tell tell) {
    Call call;
    Kind* work = alive(call.runtime, node) ? std::get_if<Kind>(&node->work) : nullptr;
    if (work == nullptr || out == nullptr) return fail(kBad);
    tell(*work, *out);
    return kOk;
}

/// `use` gets the address of `bytes` at `offset` of a variable.
template <class Use>
Error with_symbol(const void* symbol, std::size_t bytes, std::size_t offset, Use use) {
    Call call;
    std::uint64_t address = 0;
    std::size_t size = 0;
    if (const Error e = symbol_range(call.runtime, symbol, address, size); e != kOk) return fail(e);
    return offset > size || bytes > size - offset ? fail(kBad) : use(pointer_to(address + offset));
}

}  // namespace

HIPSCOPE_API Error hipGraphNodeGetType(GraphNode* node, int* type) {
    Call call;
    if (type == nullptr || !alive(call.runtime, node)) return fail(kBad);
    const int index = static_cast<int>(node->work.index());
    const int number = index < kAllocateNode - 2 ? index : index + 2;
    *type = number + (hip_major_version() < 6 ? 1 : 0);  // numbered from 1 before HIP 6
    return kOk;
}
HIPSCOPE_API Error hipGraphNodeSetEnabled(Graph* exec, GraphNode* original, unsigned enabled) {
    Call call;
    GraphNode* node = node_of(call.runtime, exec, original);
    const bool can = node != nullptr && (std::holds_alternative<KernelWork>(node->work) || std::holds_alternative<CopyWork>(node->work) ||
                                         std::holds_alternative<FillWork>(node->work));
    if (!can) return fail(kBad);
    node->enabled = enabled != 0;
    return kOk;
}
HIPSCOPE_API Error hipGraphNodeGetEnabled(Graph* exec, GraphNode* original, unsigned* enabled) {
    Call call;
    const GraphNode* node = node_of(call.runtime, exec, original);
    if (node == nullptr || enabled == nullptr) return fail(kBad);
    *enabled = node->enabled ? 1 : 0;
    return kOk;
}
HIPSCOPE_API Error hipGraphAddNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, abi::GraphNodeParams* p) { return add_made(out, g, before, n, p); }
HIPSCOPE_API Error hipGraphNodeSetParams(GraphNode* node, abi::GraphNodeParams* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecNodeSetParams(Graph* exec, GraphNode* node, abi::GraphNodeParams* p) { return set_exec_made(exec, node, p); }

HIPSCOPE_API Error hipGraphAddKernelNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::KernelNodeParams* p) { return add_made(out, g, before, n, p); }
HIPSCOPE_API Error hipGraphKernelNodeGetParams(GraphNode* node, abi::KernelNodeParams* p) {
    return read<KernelWork>(node, p, [](KernelWork& w, auto& to) {
        w.pointers.clear();
        for (const KernelArgument& a : w.function->kernel->arguments)
            if (!a.value_kind.starts_with("hidden_")) w.pointers.push_back(w.kernarg.data() + a.offset);
        to = {w.workgroup, nullptr, w.handle, w.grid, w.pointers.data(), w.dynamic_lds};
    });
}
HIPSCOPE_API Error hipGraphKernelNodeSetParams(GraphNode* node, const abi::KernelNodeParams* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecKernelNodeSetParams(Graph* exec, GraphNode* node, const abi::KernelNodeParams* p) { return set_exec_made(exec, node, p); }
HIPSCOPE_API Error hipGraphKernelNodeSetAttribute(GraphNode* node, unsigned which, const int* value) {
    if (which != kAccessPolicy && which != abi::kAttributeCooperative) return fail(kBad);
    return read<KernelWork>(node, value, [which](KernelWork& w, const int& v) {
        if (which == abi::kAttributeCooperative) w.cooperative = v != 0;
    });
}
HIPSCOPE_API Error hipGraphKernelNodeGetAttribute(GraphNode* node, unsigned which, int* value) {
    if (which != abi::kAttributeCooperative) return fail(kBad);
    return read<KernelWork>(node, value, [](const KernelWork& w, int& to) { to = w.cooperative ? 1 : 0; });
}
HIPSCOPE_API Error hipGraphKernelNodeCopyAttributes(GraphNode* from, GraphNode* to) {
    int cooperative = 0;
    const Error e = hipGraphKernelNodeGetAttribute(from, abi::kAttributeCooperative, &cooperative);
    return e == kOk ? hipGraphKernelNodeSetAttribute(to, abi::kAttributeCooperative, &cooperative) : e;
}

HIPSCOPE_API Error hipGraphAddMemcpyNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::Memcpy3DParms* p) { return add_made(out, g, before, n, p); }
HIPSCOPE_API Error hipGraphMemcpyNodeGetParams(GraphNode* node, abi::Memcpy3DParms* p) {
    return read<CopyWork>(node, p, [](const CopyWork& w, auto& to) { to = w.p; });
}
HIPSCOPE_API Error hipGraphMemcpyNodeSetParams(GraphNode* node, const abi::Memcpy3DParms* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecMemcpyNodeSetParams(Graph* exec, GraphNode* node, const abi::Memcpy3DParms* p) { return set_exec_made(exec, node, p); }
HIPSCOPE_API Error hipDrvGraphAddMemcpyNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::DriverMemcpy3D* p, void*) {
    return add_made(out, g, before, n, p);
}
HIPSCOPE_API Error hipDrvGraphMemcpyNodeGetParams(GraphNode* node, abi::DriverMemcpy3D* p) {
    return read<CopyWork>(node, p, [](const CopyWork& w, auto& to) { tell_driver_copy(w, to); });
}
HIPSCOPE_API Error hipDrvGraphMemcpyNodeSetParams(GraphNode* node, const abi::DriverMemcpy3D* p) { return set_made(node, p); }
HIPSCOPE_API Error hipDrvGraphExecMemcpyNodeSetParams(Graph* exec, GraphNode* node, const abi::DriverMemcpy3D* p, void*) {
    return set_exec_made(exec, node, p);
}
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
    return with_symbol(symbol, bytes, offset, [&](void* from) { return add(out, g, before, n, copy_work(to, from, bytes, kind)); });
}
HIPSCOPE_API Error hipGraphMemcpyNodeSetParamsFromSymbol(GraphNode* node, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
    return with_symbol(symbol, bytes, offset, [&](void* from) { return set(node, copy_work(to, from, bytes, kind)); });
}
HIPSCOPE_API Error hipGraphExecMemcpyNodeSetParamsFromSymbol(Graph* exec, GraphNode* node, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
    return with_symbol(symbol, bytes, offset, [&](void* from) { return set_exec(exec, node, copy_work(to, from, bytes, kind)); });
}
HIPSCOPE_API Error hipGraphAddMemcpyNodeToSymbol(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
    return with_symbol(symbol, bytes, offset, [&](void* to) { return add(out, g, before, n, copy_work(to, from, bytes, kind)); });
}
HIPSCOPE_API Error hipGraphMemcpyNodeSetParamsToSymbol(GraphNode* node, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
    return with_symbol(symbol, bytes, offset, [&](void* to) { return set(node, copy_work(to, from, bytes, kind)); });
}
HIPSCOPE_API Error hipGraphExecMemcpyNodeSetParamsToSymbol(Graph* exec, GraphNode* node, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
    return with_symbol(symbol, bytes, offset, [&](void* to) { return set_exec(exec, node, copy_work(to, from, bytes, kind)); });
}

HIPSCOPE_API Error hipGraphAddMemsetNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::MemsetParams* p) { return add_made(out, g, before, n, p); }
HIPSCOPE_API Error hipGraphMemsetNodeGetParams(GraphNode* node, abi::MemsetParams* p) {
    return read<FillWork>(node, p, [](const FillWork& w, auto& to) { to = w.p; });
}
HIPSCOPE_API Error hipGraphMemsetNodeSetParams(GraphNode* node, const abi::MemsetParams* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecMemsetNodeSetParams(Graph* exec, GraphNode* node, const abi::MemsetParams* p) { return set_exec_made(exec, node, p); }
HIPSCOPE_API Error hipDrvGraphAddMemsetNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::DriverMemsetParams* p, void*) {
    return add_made(out, g, before, n, p);
}
HIPSCOPE_API Error hipDrvGraphExecMemsetNodeSetParams(Graph* exec, GraphNode* node, const abi::DriverMemsetParams* p, void*) {
    return set_exec_made(exec, node, p);
}

HIPSCOPE_API Error hipGraphAddHostNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, const abi::HostNodeParams* p) { return add_made(out, g, before, n, p); }
HIPSCOPE_API Error hipGraphHostNodeGetParams(GraphNode* node, abi::HostNodeParams* p) {
    return read<HostWork>(node, p, [](const HostWork& w, auto& to) { to = {w.function, w.data}; });
}
HIPSCOPE_API Error hipGraphHostNodeSetParams(GraphNode* node, const abi::HostNodeParams* p) { return set_made(node, p); }
HIPSCOPE_API Error hipGraphExecHostNodeSetParams(Graph* exec, GraphNode* node, const abi::HostNodeParams* p) { return set_exec_made(exec, node, p); }

HIPSCOPE_API Error hipGraphAddEmptyNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n) { return add(out, g, before, n, EmptyWork{}); }

HIPSCOPE_API Error hipGraphAddChildGraphNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, Graph* child) {
    return child == g ? fail(kBad) : add_made(out, g, before, n, child);
}
HIPSCOPE_API Error hipGraphChildGraphNodeGetGraph(GraphNode* node, Graph** child) {
    return read<ChildWork>(node, child, [](const ChildWork& w, Graph*& to) { to = w.graph.get(); });
}
HIPSCOPE_API Error hipGraphExecChildGraphNodeSetParams(Graph* exec, GraphNode* node, Graph* child) { return set_exec_made(exec, node, child); }

HIPSCOPE_API Error hipGraphAddEventRecordNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, Event* e) {
    Call call;
    return call->events.contains(e) ? add(out, g, before, n, RecordWork{e}) : fail(kBad);
}
HIPSCOPE_API Error hipGraphEventRecordNodeGetEvent(GraphNode* node, Event** e) {
    return read<RecordWork>(node, e, [](const RecordWork& w, Event*& to) { to = w.event; });
}
HIPSCOPE_API Error hipGraphEventRecordNodeSetEvent(GraphNode* node, Event* e) { return set(node, RecordWork{e}); }
HIPSCOPE_API Error hipGraphExecEventRecordNodeSetEvent(Graph* exec, GraphNode* node, Event* e) { return set_exec(exec, node, RecordWork{e}); }
HIPSCOPE_API Error hipGraphAddEventWaitNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, Event* e) {
    Call call;
    return call->events.contains(e) ? add(out, g, before, n, WaitWork{e}) : fail(kBad);
}
HIPSCOPE_API Error hipGraphEventWaitNodeGetEvent(GraphNode* node, Event** e) {
    return read<WaitWork>(node, e, [](const WaitWork& w, Event*& to) { to = w.event; });
}
HIPSCOPE_API Error hipGraphEventWaitNodeSetEvent(GraphNode* node, Event* e) { return set(node, WaitWork{e}); }
HIPSCOPE_API Error hipGraphExecEventWaitNodeSetEvent(Graph* exec, GraphNode* node, Event* e) { return set_exec(exec, node, WaitWork{e}); }

HIPSCOPE_API Error hipGraphAddMemAllocNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, abi::MemAllocNodeParams* p) { return add_made(out, g, before, n, p); }
HIPSCOPE_API Error hipGraphMemAllocNodeGetParams(GraphNode* node, abi::MemAllocNodeParams* p) {
    return read<AllocateWork>(node, p, [](const AllocateWork& w, auto& to) {
        constexpr int pinned = 1;  // hipMemAllocationTypePinned, the only type
        to = {};
        to.pool.allocation_type = pinned;
        to.pool.location_type = abi::kLocationDevice;
        to.bytes = w.memory->bytes;
        to.pointer = pointer_to(w.memory->address);
    });
}
HIPSCOPE_API Error hipGraphAddMemFreeNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, void* pointer) {
    return pointer == nullptr ? fail(kBad) : add(out, g, before, n, FreeWork{pointer});
}
HIPSCOPE_API Error hipDrvGraphAddMemFreeNode(GraphNode** out, Graph* g, GraphNode* const* before, std::size_t n, void* pointer) { return hipGraphAddMemFreeNode(out, g, before, n, pointer); }
HIPSCOPE_API Error hipGraphMemFreeNodeGetParams(GraphNode* node, void* pointer) {
    return read<FreeWork>(node, static_cast<void**>(pointer), [](const FreeWork& w, void*& to) { to = w.pointer; });
}
