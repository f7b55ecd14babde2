"""A program of ctypes on the C API: a nearest-exact gradient through both phases, the message of an
error, the second use of an executor and the errors of destroyed handles. Prints "ok"."""

import ctypes
import os
from ctypes import byref, c_char_p, c_double, c_float, c_int32, c_int64, c_uint64, c_void_p

ACL = ctypes.CDLL(os.path.join(os.environ["ASCEND_HOME_PATH"], "lib64", "libascendcl.so"))
NN = ctypes.CDLL(os.path.join(os.environ["ASCEND_HOME_PATH"], "lib64", "libopapi.so"))
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
FLOAT, FORMAT_ND = 0, 2
OP = "aclnnUpsampleNearestExact2dBackward"

for library, name, result, arguments in (
    (ACL, "aclrtMalloc", c_int32, (c_void_p, c_uint64, c_int32)),
    (ACL, "aclrtFree", c_int32, (c_void_p,)),
    (ACL, "aclrtMemcpy", c_int32, (c_void_p, c_uint64, c_void_p, c_uint64, c_int32)),
    (ACL, "aclrtCreateStream", c_int32, (c_void_p,)),
    (ACL, "aclrtSynchronizeStream", c_int32, (c_void_p,)),
    (ACL, "aclrtDestroyStream", c_int32, (c_void_p,)),
    (ACL, "aclGetRecentErrMsg", c_char_p, ()),
    (
        NN,
        "aclCreateTensor",
        c_void_p,
        (c_void_p, c_uint64, c_int32, c_void_p, c_int64, c_int32, c_void_p, c_uint64, c_void_p),
    ),
    (NN, "aclDestroyTensor", c_int32, (c_void_p,)),
    (NN, "aclCreateIntArray", c_void_p, (c_void_p, c_uint64)),
    (NN, "aclDestroyIntArray", c_int32, (c_void_p,)),
    (
        NN,
        OP + "GetWorkspaceSize",
        c_int32,
        (c_void_p, c_void_p, c_void_p, c_double, c_double, c_void_p, c_void_p, c_void_p),
    ),
    (NN, OP, c_int32, (c_void_p, c_uint64, c_void_p, c_void_p)),
):
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments


def check(code, wanted=0):
    if code != wanted:
        message = ACL.aclGetRecentErrMsg()
        raise SystemExit(f"got {code}, wanted {wanted}: {message.decode() if message else ''}")


def ints(*values):
    return (c_int64 * len(values))(*values)


def device_memory(size):
    address = c_void_p()
    check(ACL.aclrtMalloc(byref(address), size, 0))
    return address


def tensor(shape, data):
    dims = ints(*shape)
    return NN.aclCreateTensor(dims, 4, FLOAT, None, 0, FORMAT_ND, dims, 4, data)


def plan(grad_output, output_size, input_size, out):
    size, executor = c_uint64(), c_void_p()
    code = getattr(NN, OP + "GetWorkspaceSize")(
        grad_output, output_size, input_size, 0.0, 0.0, out, byref(size), byref(executor)
    )
    return code, size.value, executor


def main():
    check(ACL.aclInit(None))
    check(ACL.aclrtSetDevice(0))
    stream = c_void_p()
    check(ACL.aclrtCreateStream(byref(stream)))

    values = (c_float * 16)(*range(16))
    sums = (c_float * 4)()
    from_memory, to_memory = device_memory(64), device_memory(16)
    check(ACL.aclrtMemcpy(from_memory, 64, values, 64, HOST_TO_DEVICE))
    grad_output, out = tensor((1, 1, 4, 4), from_memory), tensor((1, 1, 2, 2), to_memory)
    output_size = NN.aclCreateIntArray(ints(4, 4), 2)
    input_size = NN.aclCreateIntArray(ints(1, 1, 2, 2), 4)

    code, size, executor = plan(grad_output, output_size, input_size, out)
    check(code)
    workspace = device_memory(size) if size else None
    check(getattr(NN, OP)(workspace, size, executor, stream))
    check(ACL.aclrtSynchronizeStream(stream))
    check(ACL.aclrtMemcpy(sums, 16, to_memory, 16, DEVICE_TO_HOST))
    assert list(sums) == [10, 18, 42, 50], list(sums)

    check(getattr(NN, OP)(workspace, size, executor, stream), 161002)  # it served its one execution
    check(plan(None, output_size, input_size, out)[0], 161001)
    assert b"gradOutput is null" in ACL.aclGetRecentErrMsg()

    for handle in (grad_output, out):
        check(NN.aclDestroyTensor(handle))
        check(NN.aclDestroyTensor(handle), 161002)
    for handle in (output_size, input_size):
        check(NN.aclDestroyIntArray(handle))
    for memory in (workspace, from_memory, to_memory):
        if memory:
            check(ACL.aclrtFree(memory))
    check(ACL.aclrtDestroyStream(stream))
    check(ACL.aclrtDestroyStream(stream), 107017)
    check(ACL.aclrtResetDevice(0))
    check(ACL.aclFinalize())
    print("ok")


if __name__ == "__main__":
    main()
