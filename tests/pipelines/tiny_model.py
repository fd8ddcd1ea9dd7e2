"""Writes a tiny ONNX model without the package onnx: it finds the box of all bright pixels of an RGB picture."""
import struct


def varint(number):
    """A number in the base-128 format of protocol buffers."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def message(*fields):
    """A message of protocol buffers. A field is its number and an int, str, bytes, or list of them."""
    out = b""
    for number, value in fields:
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, int):
                out += varint(number << 3) + varint(item)
            else:
                data = item.encode() if isinstance(item, str) else item
                out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


FLOAT, UINT8, INT64 = 1, 2, 7  # TensorProto.DataType
# Names of the outputs as in models of TensorFlow, their ids in GStreamer 1.28, and their shapes.
OUTPUTS = {"detection_boxes": ("ssd-mobilenet-v1-variant-1-out-boxes", (1, -1, 4)),
           "detection_scores": ("ssd-mobilenet-v1-variant-1-out-scores", (1, -1)),
           "detection_classes": ("ssd-mobilenet-v1-variant-1-out-classes", (1, -1)),
           "num_detections": ("generic-variant-1-out-count", (1,))}


def tensor(name, data_type, shape, values):
    data = struct.pack(f"<{len(values)}{'f' if data_type == FLOAT else 'q'}", *values)
    return message((1, list(shape)), (2, data_type), (8, name), (9, data))


def value_info(name, data_type, shape):
    """The type of an input or output. Decoders require that the number of objects is unknown: -1 in the shape."""
    dimensions = message((1, [message((1, side)) if side >= 0 else message((2, "objects")) for side in shape]))
    return message((1, name), (2, message((1, message((1, data_type), (2, dimensions))))))


def attribute(name, value):
    if isinstance(value, list):
        return message((1, name), (8, value), (20, 7))
    return message((1, name), (3, value), (20, 2))


def node(op, inputs, output, **attributes):
    return message((1, inputs), (2, output), (4, op), (5, [attribute(*pair) for pair in attributes.items()]))


def bright_box_model(width, height, least):
    """The model as bytes. Its outputs are those of an SSD detector with one object: the box (top, left, bottom, right as
    fractions) of the pixels in which a channel exceeds `least`, its score (1, or 0 without such a pixel), and class 1."""
    nodes = [node("Cast", ["image"], "levels", to=FLOAT),
             node("ReduceMax", ["levels"], "brightness", axes=[0, 3], keepdims=0),
             node("Greater", ["brightness", "least"], "is_bright"),
             node("Cast", ["is_bright"], "bright", to=FLOAT)]
    edges = []
    for axis, side in (("row", "height"), ("column", "width")):
        nodes += [node("ReduceMax", ["bright"], f"{axis}s", axes=[1 if axis == "row" else 0], keepdims=0),
                  node("ArgMax", [f"{axis}s"], f"first_{axis}", axis=0),
                  node("ArgMax", [f"{axis}s"], f"last_{axis}", axis=0, select_last_index=1),
                  node("Add", [f"last_{axis}", "one"], f"end_{axis}")]
        for edge in ("first", "end"):
            nodes += [node("Cast", [f"{edge}_{axis}"], f"{edge}_{axis}_pixels", to=FLOAT),
                      node("Div", [f"{edge}_{axis}_pixels", side], f"{edge}_{axis}_fraction")]
    for edge in ("first", "end"):
        edges += [f"{edge}_row_fraction", f"{edge}_column_fraction"]
    # The number of objects is 1. It is computed from the picture, so that ONNX Runtime does not know it in advance.
    nodes += [node("Concat", edges, "edges", axis=0),
              node("ReduceMax", ["bright"], "score", keepdims=0),
              node("Sub", ["score", "score"], "nothing"),
              node("Add", ["nothing", "class"], "classes"),
              node("Cast", ["nothing"], "none", to=INT64),
              node("Add", ["none", "one"], "objects"),
              node("Concat", ["one", "objects"], "score_shape", axis=0),
              node("Concat", ["score_shape", "four"], "box_shape", axis=0),
              node("Reshape", ["edges", "box_shape"], "detection_boxes"),
              node("Reshape", ["score", "score_shape"], "detection_scores"),
              node("Reshape", ["classes", "score_shape"], "detection_classes"),
              node("Cast", ["objects"], "num_detections", to=FLOAT)]
    constants = [tensor("least", FLOAT, [], [least]), tensor("one", INT64, [1], [1]),
                 tensor("height", FLOAT, [1], [height]), tensor("width", FLOAT, [1], [width]),
                 tensor("four", INT64, [1], [4]), tensor("class", FLOAT, [], [1])]
    graph = message((1, nodes), (2, "bright_box"), (5, constants), (11, value_info("image", UINT8, [1, height, width, 3])),
                    (12, [value_info(name, FLOAT, shape) for name, (_, shape) in OUTPUTS.items()]))
    return message((1, 7), (7, graph), (8, message((1, ""), (2, 13))))


def model_info(width, height):
    """The text of the file MODEL.modelinfo, which onnxinference of GStreamer 1.28 reads. It names the tensors."""
    def section(name, identifier, kind, shape, direction, more=""):
        return f"[{name}]\nid={identifier}\ntype={kind}\ndims={','.join(map(str, shape))}\ndir={direction}\n{more}\n"

    return ("[modelinfo]\nversion=1.0\ngroup-id=ssd-mobilenet-v1-variant-1-out\n\n"
            + section("image", "image", "uint8", (1, height, width, 3), "input", "ranges=0.0,255.0;0.0,255.0;0.0,255.0\n")
            + "".join(section(name, identifier, "float32", shape, "output")
                      for name, (identifier, shape) in OUTPUTS.items()))
