"""What gdb shows of aclTensor, aclIntArray and the other handles of an aclnn program.

gdb loads this file with libportacl.so, beside which it lies under that name and ``-gdb.py``,
where ``auto-load safe-path`` holds the folder, or in gdb's own folder, under the library's path.
The types are in ``libportacl-types.o`` beside the library. Memory is only read, so that programs
that have stopped anywhere and core files are shown alike. A destroyed or foreign handle is not
known for one here: what its memory holds is shown.
"""

import os

import gdb

LIBRARY_FOLDER = os.path.dirname(os.path.abspath(__file__)).split("/share/gdb/auto-load")[-1]
TYPES = os.path.join(LIBRARY_FOLDER, "libportacl-types.o")
DTYPES = {-1: "UNDEFINED", 0: "FLOAT", 1: "FLOAT16", 2: "INT8", 3: "INT32", 4: "UINT8", 6: "INT16",
          9: "INT64", 11: "DOUBLE", 12: "BOOL", 27: "BF16"}
SHOWN = 64  # members of an array


def load_types():
    """Read the types once; a program that was compiled with its own copy of them needs no second."""
    try:
        gdb.lookup_type("aclTensor").fields()
        if gdb.lookup_type("aclTensor").sizeof > 1:
            return
    except (gdb.error, TypeError):
        pass
    confirm = gdb.parameter("confirm")
    gdb.execute("set confirm off")
    try:
        gdb.execute(f"add-symbol-file '{TYPES}' 0", to_string=True)
    finally:
        gdb.execute(f"set confirm {'on' if confirm else 'off'}")


def behind(value, name):
    """Return the object of that type to which a handle points."""
    load_types()
    return value.cast(gdb.lookup_type(name).pointer()).dereference()


def base(value):
    """Return the object as its first base class."""
    return value.cast(value.type.fields()[0].type)


def field(pointer, name):
    """Return a field of what a pointer to a class points to, without a look at its dynamic type."""
    entry = pointer.type.strip_typedefs().target().strip_typedefs().unqualified()[name]
    address = gdb.Value(int(pointer) + entry.bitpos // 8)
    return address.cast(entry.type.pointer()).dereference()


def list_of(items):
    """Return the text of a list, cut where it is long."""
    items = list(items)
    more = ", ..." if len(items) > SHOWN else ""
    return "[" + ", ".join(str(item) for item in items[:SHOWN]) + more + "]"


def members(vector):
    """Return what a std::vector holds, one more than is shown at most."""
    impl = vector["_M_impl"]
    begin, end = impl["_M_start"], impl["_M_finish"]
    return [(begin + index).dereference() for index in range(min(int(end - begin), SHOWN + 1))]


def bits(vector):
    """Return what a std::vector<bool> holds."""
    impl = vector["_M_impl"]
    begin, end = impl["_M_start"], impl["_M_finish"]
    words = int(end["_M_p"] - begin["_M_p"])
    count = words * begin["_M_p"].dereference().type.sizeof * 8 + int(end["_M_offset"])
    width = begin["_M_p"].dereference().type.sizeof * 8
    return [
        "true" if int((begin["_M_p"] + index // width).dereference()) >> index % width & 1 else "false"
        for index in range(min(count, SHOWN + 1))
    ]


def text_of(string):
    """Return a std::string's text."""
    return string["_M_dataplus"]["_M_p"].string(length=int(string["_M_string_length"]))


def dims(value):
    """Return the numbers of a Dims."""
    return [int(value["values_"]["_M_elems"][axis]) for axis in range(int(value["rank_"]))]


def contiguous(shape):
    """Return the strides of a tensor of that shape without gaps."""
    strides = []
    product = 1
    for extent in reversed(shape):
        strides.insert(0, product)
        product *= extent
    return strides


def describe(desc):
    """Return a TensorDesc in a line: dtype, shape, and what is not as usual."""
    dtype = int(desc["dtype"])
    shape, strides = dims(desc["shape"]), dims(desc["strides"])
    text = f"{DTYPES.get(dtype, f'data type {dtype}')} {list_of(shape)}"
    if strides != contiguous(shape):
        text += f" strides {list_of(strides)}"
    if int(desc["offset"]) != 0:
        text += f" offset {int(desc['offset'])}"
    return f"{text} at {hex(int(desc['data']))}"


def scalar_text(value):
    """Return a scalar's dtype; its value where gdb has a type for it."""
    dtype = int(value["dtype"])
    types = {0: "float", 2: "signed char", 3: "int", 4: "unsigned char", 6: "short", 9: "long",
             11: "double", 12: "bool"}
    name = DTYPES.get(dtype, f"data type {dtype}")
    if dtype not in types:
        return name
    held = value["value"]["_M_elems"].address.cast(gdb.lookup_type(types[dtype]).pointer())
    number = held.dereference()
    return f"{name} {int(number) if dtype in (2, 4) else number}"


def plan_text(executor):
    """Return the call that an executor holds: operator, kernel, workspace, tensors."""
    plan = base(executor)["plan_"]["_M_ptr"]
    tensors = members(field(plan, "tensors_"))
    parts = [f"{tensor['name'].string()} {describe(tensor['desc'])}" for tensor in tensors]
    operator, kernel = field(plan, "refusals_")["op_"].string(), text_of(field(plan, "kernel_"))
    workspace = int(field(plan, "workspace_size_"))
    return f"{operator}, kernel {kernel}, workspace {workspace}: {'; '.join(parts)}"


def stream_text(stream):
    """Return a stream's number, device, and what waits in it."""
    waiting = int(stream["enqueued_"]) - int(stream["done_"])
    state = "closed" if stream["closed_"] else ("busy" if stream["busy_"] else "idle")
    return f"stream {int(stream['id_'])} of device {int(stream['device_'])}: {waiting} waiting, {state}"


TEXTS = {
    "aclTensor": lambda value: describe(value["desc"]),
    "aclScalar": scalar_text,
    "aclIntArray": lambda value: list_of(members(value["values"])),
    "aclFloatArray": lambda value: list_of(members(value["values"])),
    "aclBoolArray": lambda value: list_of(bits(value["values"])),
    "aclTensorList": lambda value: list_of(
        describe(each.dereference()["desc"]) for each in members(value["values"])
    ),
    "aclScalarList": lambda value: list_of(
        scalar_text(each.dereference()) for each in members(value["values"])
    ),
    "aclOpExecutor": plan_text,
    "aclrtStream": stream_text,
}
OBJECTS = {"aclrtStream": "portacl::runtime::Stream"}


class Handle:
    """One handle's text behind its address."""

    def __init__(self, value, name):
        self.value = value
        self.name = name

    def to_string(self):
        """Answer gdb."""
        address = int(self.value)
        if address == 0:
            return f"({self.name}) null"
        try:
            text = TEXTS[self.name](behind(self.value, OBJECTS.get(self.name, self.name)))
        except (gdb.error, UnicodeDecodeError) as problem:
            text = f"not readable: {problem}"
        return f"({self.name}) {hex(address)} {text}"


def lookup(value):
    """Return the printer of a handle, or nothing."""
    kind = value.type
    if kind.code == gdb.TYPE_CODE_TYPEDEF and kind.name == "aclrtStream":
        return Handle(value, "aclrtStream")
    kind = kind.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        name = kind.target().unqualified().strip_typedefs().name
        if name in TEXTS:
            return Handle(value, name)
    return None


objfile = gdb.current_objfile()
(gdb.pretty_printers if objfile is None else objfile.pretty_printers).append(lookup)
