"""Writes tiny ONNX models without the package onnx. They find the bright pixels of an RGB picture."""
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
# The outputs of the models: names, ids in GStreamer 1.28, and shapes. -1: unknown in advance, as decoders require.
SSD, YOLO = "ssd-mobilenet-v1-variant-1-out", "yolo-v8-segmentation-out"
BOX_OUTPUTS = {"detection_boxes": (f"{SSD}-boxes", (1, -1, 4)), "detection_scores": (f"{SSD}-scores", (1, -1)),
               "detection_classes": (f"{SSD}-classes", (1, -1)), "num_detections": ("generic-variant-1-out-count", (1,))}
CELL = 4  # pixels per side of a sample of the mask
CANDIDATES = 4  # the decoder requires more than two


def mask_outputs(width, height):
    return {"detections": (f"{YOLO}-detections", (1, 7, CANDIDATES)),
            "protos": (f"{YOLO}-protos", (1, 2, height // CELL, width // CELL))}


def tensor(name, data_type, shape, values):
    data = struct.pack(f"<{len(values)}{'f' if data_type == FLOAT else 'q'}", *values)
    return message((1, list(shape)), (2, data_type), (8, name), (9, data))


def value_info(name, data_type, shape):
    """The type of an input or output. A side of -1 has a name instead of a number."""
    dimensions = message((1, [message((1, side)) if side >= 0 else message((2, "objects")) for side in shape]))
    return message((1, name), (2, message((1, message((1, data_type), (2, dimensions))))))


def attribute(name, value):
    if isinstance(value, list):
        return message((1, name), (8, value), (20, 7))
    return message((1, name), (3, value), (20, 2))


def node(op, inputs, output, **attributes):
    return message((1, inputs), (2, output), (4, op), (5, [attribute(*pair) for pair in attributes.items()]))


def model_of(width, height, least, nodes, constants, outputs):
    """A model of an RGB picture. Before `nodes`, it computes `bright`, where a channel exceeds `least`, and the first and end
    row and column of these pixels, for example `end_row`."""
    start = [node("Cast", ["image"], "levels", to=FLOAT),
             node("ReduceMax", ["levels"], "brightness", axes=[0, 3], keepdims=0),
             node("Greater", ["brightness", "least"], "is_bright"),
             node("Cast", ["is_bright"], "bright", to=FLOAT),
             node("ReduceMax", ["bright"], "score", keepdims=0)]
    for axis, across in (("row", 1), ("column", 0)):
        start += [node("ReduceMax", ["bright"], f"{axis}s", axes=[across], keepdims=0),
                  node("ArgMax", [f"{axis}s"], f"first_{axis}_index", axis=0),
                  node("ArgMax", [f"{axis}s"], f"last_{axis}_index", axis=0, select_last_index=1),
                  node("Cast", [f"first_{axis}_index"], f"first_{axis}", to=FLOAT),
                  node("Cast", [f"last_{axis}_index"], f"last_{axis}", to=FLOAT),
                  node("Add", [f"last_{axis}", "unit"], f"end_{axis}")]
    constants = constants + [tensor("least", FLOAT, [], [least]), tensor("unit", FLOAT, [], [1])]
    graph = message((1, start + nodes), (2, "bright"), (5, constants),
                    (11, value_info("image", UINT8, (1, height, width, 3))),
                    (12, [value_info(name, FLOAT, shape) for name, (_, shape) in outputs.items()]))
    return message((1, 7), (7, graph), (8, message((1, ""), (2, 13))))


def bright_box_model(width, height, least):
    """An SSD detector of one object as bytes: the box (top, left, bottom, right as fractions) of the bright pixels, its score
    (1, or 0 without such a pixel), and class 1."""
    edges = [("first", "row"), ("first", "column"), ("end", "row"), ("end", "column")]
    nodes = [node("Div", [f"{edge}_{axis}", "height" if axis == "row" else "width"], f"{edge}_{axis}_fraction")
             for edge, axis in edges]
    # The number of objects is 1. It is computed from the picture, so that ONNX Runtime does not know it in advance.
    nodes += [node("Concat", [f"{edge}_{axis}_fraction" for edge, axis in edges], "edges", axis=0),
              node("Sub", ["score", "score"], "zero"),
              node("Add", ["zero", "unit"], "classes"),
              node("Cast", ["zero"], "zero_objects", to=INT64),
              node("Add", ["zero_objects", "one"], "objects"),
              node("Concat", ["one", "objects"], "score_shape", axis=0),
              node("Concat", ["score_shape", "four"], "box_shape", axis=0),
              node("Reshape", ["edges", "box_shape"], "detection_boxes"),
              node("Reshape", ["score", "score_shape"], "detection_scores"),
              node("Reshape", ["classes", "score_shape"], "detection_classes"),
              node("Cast", ["objects"], "num_detections", to=FLOAT)]
    constants = [tensor("one", INT64, [1], [1]), tensor("four", INT64, [1], [4]),
                 tensor("height", FLOAT, [1], [height]), tensor("width", FLOAT, [1], [width])]
    return model_of(width, height, least, nodes, constants, BOX_OUTPUTS)


def bright_mask_model(width, height, least):
    """A YOLO model of one object as bytes: centre and size of the box of the bright pixels, its score, the weights of two
    masks, and these masks as logarithms of odds. The first mask contains the bright pixels, at a lower resolution."""
    nodes = [node("Reshape", ["score", "one"], "score_1")]
    for axis in ("column", "row"):
        nodes += [node("Sub", [f"end_{axis}", f"first_{axis}"], f"{axis}_length"),
                  node("Mul", [f"{axis}_length", "half"], f"{axis}_half"),
                  node("Add", [f"first_{axis}", f"{axis}_half"], f"{axis}_center")]
    nodes += [node("Concat", ["column_center", "row_center", "column_length", "row_length", "score_1", "weights"],
                   "values", axis=0),
              node("Reshape", ["values", "values_shape"], "object"),
              node("Pad", ["object", "padding"], "detections"),
              node("Reshape", ["bright", "picture_shape"], "bright_picture"),
              node("AveragePool", ["bright_picture"], "shares", kernel_shape=[CELL, CELL], strides=[CELL, CELL]),
              node("Sub", ["shares", "half"], "evidence"),
              node("Mul", ["evidence", "strengths"], "protos")]
    constants = [tensor("one", INT64, [1], [1]), tensor("half", FLOAT, [], [0.5]),
                 tensor("weights", FLOAT, [2], [1, 0]), tensor("strengths", FLOAT, [1, 2, 1, 1], [20, 0]),
                 tensor("values_shape", INT64, [3], [1, 7, 1]), tensor("padding", INT64, [6], [0, 0, 0, 0, 0, CANDIDATES - 1]),
                 tensor("picture_shape", INT64, [4], [1, 1, height, width])]
    return model_of(width, height, least, nodes, constants, mask_outputs(width, height))


def model_info(width, height, group, outputs):
    """The text of the file MODEL.modelinfo, which onnxinference of GStreamer 1.28 reads. It names the tensors."""
    def section(name, identifier, kind, shape, direction, more):
        return f"[{name}]\nid={identifier}\ntype={kind}\ndims={','.join(map(str, shape))}\ndir={direction}\n{more}\n\n"

    order = "dims-order=" + ("col-major" if group == YOLO else "row-major")
    return (f"[modelinfo]\nversion=1.0\ngroup-id={group}\n\n"
            + section("image", "image", "uint8", (1, height, width, 3), "input", "ranges=0.0,255.0;0.0,255.0;0.0,255.0")
            + "".join(section(name, identifier, "float32", shape, "output", order)
                      for name, (identifier, shape) in outputs.items()))
