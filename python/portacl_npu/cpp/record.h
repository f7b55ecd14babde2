// Routed operators on a stream that records a graph of the device (torch.npu.NPUGraph).
//
// Such an operator runs once while the graph is recorded, for the shapes of its results, and again
// in every replay, in the stream's order, on the same memory. A graph keeps the tensors of its
// routed operators alive.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

#include "borrow.h"

namespace portacl_npu {

// Asks for the address of the current stream of a device; set once.
using StreamOfDevice = void* (*)(int device);
void SetStreamOfDevice(StreamOfDevice function);

// The current stream of a device if it records a graph, else null.
void* RecordingStream(c10::Device device);

// Whether an operator can be replayed: its results are tensors whose sizes do not depend on values.
bool CanReplay(const c10::OperatorHandle& op);

// How an operator runs on tensors of the CPU, with `device`'s random numbers.
using RunOperator = void (*)(const c10::OperatorHandle& op, c10::Device device, size_t first,
                             torch::jit::Stack* stack);

// Has the graph run the operator in each replay. `arguments`: as tensors of the CPU; `results`:
// those of the call just made, as tensors of the device.
void Record(void* stream, const c10::OperatorHandle& op, c10::Device device, RunOperator run,
            torch::jit::Stack arguments, const c10::IValue* results, size_t count,
            const Borrowed& borrowed);

}  // namespace portacl_npu
