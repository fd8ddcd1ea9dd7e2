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


def tensor(name, data_type, shape, values):
    data = struct.pack(f"<{len(values)}{'f' if data_type == FLOAT else 'q'}", *values)
    return message((1, list(shape)), (2, data_type), (8, name), (9, data))


def value_info(name, data_type, shape):
    dimensions = message((1, [message((1, side)) for side in shape]))
    return message((1, name), (2, message((1, message((1, data_type), (2, dimensions))))))


def attribute(name, value):
    if isinstance(value, list):
        return message((1, name), (8, value), (20, 7))
    return message((1, name), (3, value), (20, 2))


def node(op, inputs, output, **attributes):
    return message((1, inputs), (2, output), (4, op), (5, [attribute(*pair) for pair in attributes.items()]))


def bright_box_model(width, height, least):
    """The model as bytes. Its outputs are those of an SSD detector with one object: the box (top, left, bottom, right as
    fractions) of the pixels in which a channel exceeds `least`, its score (1, or 0 without such a pixel), and class 0."""
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
    nodes += [node("Concat", edges, "edges", axis=0),
              node("Reshape", ["edges", "box_shape"], "detection_boxes"),
              node("ReduceMax", ["bright"], "score", keepdims=0),
              node("Reshape", ["score", "score_shape"], "detection_scores"),
              node("Identity", ["class"], "detection_classes"),
              node("Identity", ["count"], "num_detections")]
    constants = [tensor("least", FLOAT, [], [least]), tensor("one", INT64, [1], [1]),
                 tensor("height", FLOAT, [1], [height]), tensor("width", FLOAT, [1], [width]),
                 tensor("box_shape", INT64, [3], [1, 1, 4]), tensor("score_shape", INT64, [2], [1, 1]),
                 tensor("class", FLOAT, [1, 1], [0]), tensor("count", FLOAT, [1], [1])]
    outputs = {"detection_boxes": [1, 1, 4], "detection_scores": [1, 1], "detection_classes": [1, 1],
               "num_detections": [1]}
    graph = message((1, nodes), (2, "bright_box"), (5, constants), (11, value_info("image", UINT8, [1, height, width, 3])),
                    (12, [value_info(name, FLOAT, shape) for name, shape in outputs.items()]))
    return message((1, 7), (7, graph), (8, message((1, ""), (2, 13))))
