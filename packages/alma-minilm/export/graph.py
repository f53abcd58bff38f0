"""The graph of all-MiniLM-L6-v2 in ONNX, written node by node from its weights: encoder, mean pooling and L2 normalisation.

Every matrix is int8, symmetric, with one scale an output channel (one a row for the word embeddings). Activations are quantised to
uint8 when the graph runs, one range a tensor: so vectors depend a little on what shares a batch, and a caller who wants one vector
for one text runs one text at a time.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, NDArray[np.float32]]

LAYERS = 6
HEADS = 12
DIMENSION = 384
TOKEN_LIMIT = 256
EPSILON = 1e-12
LEVELS = 127
OPSET = 17
IR_VERSION = 8
CONTRIB = "com.microsoft"  # operators that every CPU build of onnxruntime carries


def quantised(matrix: NDArray[np.float32], *, axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The matrix as int8 and the scales, kept as dimensions, so that `int8 * scale` is near it. `axis` is the one that a scale spans."""
    peak = np.abs(matrix).max(axis=axis, keepdims=True)
    scale = np.where(peak > 0, peak, 1).astype(np.float32) / np.float32(LEVELS)
    return np.clip(np.rint(matrix / scale), -LEVELS, LEVELS).astype(np.int8), scale


class Graph:
    """Nodes and constants in the order they were added, which alone decides the bytes of the file."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def weight(self, name: str) -> NDArray[np.float32]:
        return self._weights[name]

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, *, domain: str = "", **attributes: float | int) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def split(self, source: str, sizes: str, outputs: Sequence[str]) -> Sequence[str]:
        self._nodes.append(helper.make_node("Split", [source, sizes], outputs, name=outputs[0] + ".split", axis=-1))
        return outputs

    def dense(self, source: str, name: str, matrix: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        """`source @ matrix + bias`, the matrix with shape (inputs, outputs)."""
        values, scale = quantised(matrix, axis=0)
        constants = [
            self.constant(f"{name}.weight", values),
            self.constant(f"{name}.scale", scale[0]),
            "",  # zero points: none, the weights are symmetric
            self.constant(f"{name}.bias", bias),
        ]
        return self.node("DynamicQuantizeMatMul", [source, *constants], name, domain=CONTRIB)

    def norm(self, name: str) -> list[str]:
        return [self.constant(f"{name}.{part}", self.weight(f"{name}.{part}")) for part in ("weight", "bias")]

    def add_and_norm(self, left: str, right: str, name: str) -> str:
        return self.node("SkipLayerNormalization", [left, right, *self.norm(name)], name, domain=CONTRIB, epsilon=EPSILON)

    def model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", DIMENSION])
        graph = helper.make_graph(self._nodes, "all-MiniLM-L6-v2", inputs, [output], self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def build(weights: Weights) -> onnx.ModelProto:
    """The model: `input_ids` and `attention_mask` (batch, tokens) int64 to `embedding` (batch, 384) float32, rows of length 1."""
    graph = Graph(weights)
    keys = graph.node("Cast", ["attention_mask"], "mask.keys", to=TensorProto.INT32)
    thirds = graph.constant("thirds", np.full(3, DIMENSION, np.int64))
    state = _embeddings(graph)
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        state = _feed_forward(graph, _attention(graph, state, prefix, keys, thirds), prefix)
    _pooled(graph, state)
    return graph.model()


def _embeddings(graph: Graph) -> str:
    """Words, positions and the one token type that a single text has."""
    values, scale = quantised(graph.weight("embeddings.word_embeddings.weight"), axis=1)
    rows = graph.node("Gather", [graph.constant("words", values), "input_ids"], "words.int8")
    scales = graph.node("Gather", [graph.constant("words.scale", scale), "input_ids"], "words.scales")
    words = graph.node("Mul", [graph.node("Cast", [rows], "words.float", to=TensorProto.FLOAT), scales], "words.scaled")

    place = graph.weight("embeddings.position_embeddings.weight") + graph.weight("embeddings.token_type_embeddings.weight")[0]
    first = graph.constant("first", np.zeros(1, np.int64))
    length = graph.node("Shape", ["input_ids"], "length", start=1, end=2)
    places = graph.node("Slice", [graph.constant("places", place[:TOKEN_LIMIT]), first, length, first], "places.used")
    total = graph.node("Add", [words, places], "embeddings")
    norm = "embeddings.LayerNorm"
    return graph.node("LayerNormalization", [total, *graph.norm(norm)], norm, axis=-1, epsilon=EPSILON)


def _attention(graph: Graph, state: str, prefix: str, keys: str, thirds: str) -> str:
    parts = [f"{prefix}.attention.self.{part}" for part in ("query", "key", "value")]
    matrix = np.concatenate([graph.weight(f"{part}.weight").T for part in parts], axis=1)
    bias = np.concatenate([graph.weight(f"{part}.bias") for part in parts])
    joined = graph.dense(state, f"{prefix}.attention.self", matrix, bias)
    query_key_value = graph.split(joined, thirds, parts)
    context = graph.node(
        "MultiHeadAttention", [*query_key_value, "", keys], f"{prefix}.attention", domain=CONTRIB, num_heads=HEADS
    )
    output = f"{prefix}.attention.output"
    return graph.add_and_norm(state, _dense(graph, context, f"{output}.dense"), f"{output}.LayerNorm")


def _feed_forward(graph: Graph, state: str, prefix: str) -> str:
    wide = _dense(graph, state, f"{prefix}.intermediate.dense")
    active = graph.node("Gelu", [wide], f"{prefix}.intermediate", domain=CONTRIB)
    return graph.add_and_norm(state, _dense(graph, active, f"{prefix}.output.dense"), f"{prefix}.output.LayerNorm")


def _dense(graph: Graph, source: str, name: str) -> str:
    return graph.dense(source, name, graph.weight(f"{name}.weight").T, graph.weight(f"{name}.bias"))


def _pooled(graph: Graph, state: str) -> str:
    """The sum over the real tokens, made unit length: the same direction as their mean."""
    axis = graph.constant("axis", np.ones(1, np.int64))
    mask = graph.node("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
    row = graph.node("Unsqueeze", [mask, axis], "mask.row")
    total = graph.node("Squeeze", [graph.node("MatMul", [row, state], "total"), axis], "total.flat")
    return graph.node("LpNormalization", [total], "embedding", axis=-1, p=2)
