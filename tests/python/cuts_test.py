#!/usr/bin/env python3
"""mincut against PyMaxflow and SciPy, and against its certificate: the capacity of the cut equals the flow."""

import unittest

import gst_regions
import numpy
from hypothesis import given
from hypothesis import strategies as st
from references import view_of, reference, shapes

DIRECTIONS = {"right": (0, 1), "down": (1, 0), "down_right": (1, 1), "down_left": (1, -1)}


@st.composite
def grids(draw):
    """Terminal weights and a dictionary of capacities for 4 or 8 neighbours."""
    shape = draw(shapes(2, 2))
    choose = numpy.random.default_rng(draw(st.integers(0, 2**32)))
    most = draw(st.sampled_from([1, 3, 100, 10**6]))
    names = list(DIRECTIONS)[:draw(st.sampled_from([2, 4]))]
    capacities = {name: choose.integers(0, most, shape, endpoint=True) for name in names}
    return choose.integers(-2 * most, 2 * most, shape, endpoint=True), capacities


def links(shape, capacities):
    """(capacity, from, to) of the links inside the picture."""
    index = numpy.arange(shape[0] * shape[1]).reshape(shape)
    for name, capacity in capacities.items():
        dy, dx = DIRECTIONS[name]
        here = numpy.s_[:shape[0] - dy, max(0, -dx):shape[1] - max(0, dx)]
        there = numpy.s_[dy:, max(0, dx):shape[1] - max(0, -dx)]
        yield from zip(capacity[here].ravel().tolist(), index[here].ravel().tolist(), index[there].ravel().tolist())


def value_of(terminal, capacities, foreground):
    inside = foreground.ravel()
    cost = terminal[(terminal > 0) & ~foreground].sum() - terminal[(terminal < 0) & foreground].sum()
    return cost + sum(c for c, a, b in links(terminal.shape, capacities) if inside[a] != inside[b])


class Cuts(unittest.TestCase):
    @given(st.data())
    def test_flow_of_mincut_on_a_random_grid_equals_pymaxflow(self, data):
        maxflow = reference("maxflow")
        terminal, capacities = data.draw(grids())
        foreground, flow = gst_regions.mincut(view_of(data.draw, terminal), **capacities)
        self.assertEqual(value_of(terminal, capacities, foreground), flow)
        graph = maxflow.GraphInt()
        nodes = graph.add_nodes(terminal.size)
        for node, t in zip(nodes, terminal.ravel().tolist()):
            graph.add_tedge(node, max(t, 0), max(-t, 0))
        for capacity, one, other in links(terminal.shape, capacities):
            graph.add_edge(one, other, capacity, capacity)
        self.assertEqual(graph.maxflow(), flow)

    @given(st.data())
    def test_foreground_of_mincut_with_several_minimum_cuts_is_the_largest(self, data):
        sparse, csgraph = reference("scipy.sparse"), reference("scipy.sparse.csgraph")
        terminal, capacities = data.draw(grids())
        foreground, flow = gst_regions.mincut(terminal, **capacities)
        source, sink = terminal.size, terminal.size + 1
        edges = [(c, *ends) for c, a, b in links(terminal.shape, capacities) for ends in ((a, b), (b, a))]
        edges += [(t, source, i) if t > 0 else (-t, i, sink) for i, t in enumerate(terminal.ravel().tolist())]
        value, row, column = map(numpy.array, zip(*edges))
        shape = (terminal.size + 2,) * 2
        graph = sparse.csr_array((value.astype(numpy.int32), (row, column)), shape)
        found = csgraph.maximum_flow(graph, source, sink)
        self.assertEqual(found.flow_value, flow)
        left = sparse.csr_array(graph - found.flow)
        left.data = (left.data > 0).astype(numpy.int8)
        left.eliminate_zeros()
        reaches = csgraph.breadth_first_order(left.T.tocsr(), sink, return_predecessors=False)
        want = numpy.ones(terminal.size + 2, bool)
        want[reaches] = False
        numpy.testing.assert_array_equal(foreground.view(numpy.uint8).ravel(), want[:-2].view(numpy.uint8))

    @given(st.data())
    def test_warm_cut_of_a_changing_grid_equals_a_cold_start(self, data):
        warm = gst_regions.WarmCut(threads=data.draw(st.sampled_from([1, 2])))
        terminal, capacities = data.draw(grids())
        choose = numpy.random.default_rng(data.draw(st.integers(0, 2**32)))
        for _ in range(4):
            foreground, flow = warm.cut(view_of(data.draw, terminal), **capacities)
            want, value = gst_regions.mincut(terminal, **capacities)
            self.assertEqual((foreground.dtype, flow), (bool, value))
            numpy.testing.assert_array_equal(foreground, want)
            here = choose.random(terminal.shape) < 0.3
            terminal = numpy.where(here, choose.permutation(terminal.ravel()).reshape(terminal.shape), terminal)
            capacities = {name: numpy.where(here, choose.integers(0, 9, here.shape), capacity)
                          for name, capacity in capacities.items()}

    def test_warm_cut_after_another_size_or_a_failed_call_equals_a_cold_start(self):
        warm = gst_regions.WarmCut()
        terminal = numpy.array([[5, -3, 0], [2, -9, 1]])
        out = numpy.ones((2, 3), bool)
        for picture, more in ((terminal, ()), (terminal.T, ()), (terminal, (1, 1)), (terminal, ())):
            foreground, flow = warm.cut(picture, 1, 1, *more)
            want, value = gst_regions.mincut(picture, 1, 1, *more)
            numpy.testing.assert_array_equal(foreground, want)
            self.assertEqual(flow, value)
            with self.assertRaisesRegex(ValueError, "capacity between pixels is negative"):
                warm.cut(picture, -1, 1)
        self.assertIs(warm.cut(terminal, 1, 1, out=out)[0], out)
        with self.assertRaisesRegex(ValueError, "is missing; pass both down_right and down_left"):
            warm.cut(terminal, 1, 1, 1)
        with self.assertRaisesRegex(ValueError, "threads is -1"):
            gst_regions.WarmCut(-1)

    def test_mincut_with_a_number_as_capacity_equals_that_with_an_array(self):
        terminal = numpy.array([[5, -3, 0], [2, -9, 1]])
        ones = numpy.ones((2, 3), int)
        foreground, flow = gst_regions.mincut(terminal, 1, 2 * ones, 3, ones)
        want, value = gst_regions.mincut(terminal, ones, 2 * ones, 3 * ones, ones)
        numpy.testing.assert_array_equal(foreground, want)
        self.assertEqual(flow, value)

    def test_mincut_source_and_sink_capacities_equal_pymaxflow(self):
        maxflow = reference("maxflow")
        choose = numpy.random.default_rng(4)
        for kind in ("uint8", "int16", "uint16", "int64"):
            source, sink = choose.integers(0, 200, (2, 13, 17)).astype(kind)
            graph = maxflow.GraphInt()
            nodes = graph.add_grid_nodes(source.shape)
            graph.add_grid_edges(nodes, 30)
            graph.add_grid_tedges(nodes, source, sink)
            foreground, flow = gst_regions.mincut((source, sink), 30, 30)
            self.assertEqual(flow, graph.maxflow())
            signed = source.astype(int) - sink
            numpy.testing.assert_array_equal(foreground, gst_regions.mincut(signed, 30, 30)[0])
            self.assertEqual(gst_regions.WarmCut().cut((source, sink), 30, 30)[1], flow)

    def test_mincut_unsigned_terminal_is_refused(self):
        source, sink = numpy.array([[1, 9]], numpy.uint8), numpy.array([[5, 2]], numpy.uint8)
        for cut in (gst_regions.mincut, gst_regions.WarmCut().cut):
            with self.assertRaisesRegex(TypeError, r"type uint8, which cannot be negative.*pass the tuple \(s, t\)"):
                cut(source - sink, 1, 1)

    def test_mincut_invalid_pair_or_number_error_names_it(self):
        ones = numpy.ones((2, 3), int)
        for words, terminal in (("shapes", (ones, ones.T)), ("negative capacity in its tuple", (ones, -ones)),
                                ("up to 4294967296, must fit in int32", (ones * 2**32, ones)),
                                ("capacity that is NaN", ones * numpy.nan),
                                ("infinite capacities from the source and to the sink", (ones * numpy.inf,) * 2)):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                gst_regions.mincut(terminal, 1, 1)
        rows = gst_regions.mincut(((1, -2, 3), (4, -5, 6)), 1, 1)  # a picture, not a pair
        self.assertEqual(rows[0].shape, (2, 3))

    @given(st.data())
    def test_mincut_floating_point_capacities_equal_pymaxflow(self, data):
        maxflow = reference("maxflow")
        terminal, capacities = data.draw(grids())
        scale = data.draw(st.sampled_from([1 / 3, 1e-9, 1e9, 0.125]))
        kind = data.draw(st.sampled_from(["float32", "float64"]))
        terminal = (terminal * scale).astype(kind)
        capacities = {name: (capacity * scale).astype(kind) for name, capacity in capacities.items()}
        foreground, flow = gst_regions.mincut(terminal, **capacities)
        self.assertIsInstance(flow, float)
        numpy.testing.assert_allclose(value_of(terminal.astype(float), capacities, foreground), flow, rtol=1e-6)
        graph = maxflow.GraphFloat()
        nodes = graph.add_nodes(terminal.size)
        for node, t in zip(nodes, terminal.ravel().tolist()):
            graph.add_tedge(node, max(t, 0), max(-t, 0))
        for capacity, one, other in links(terminal.shape, capacities):
            graph.add_edge(one, other, capacity, capacity)
        most = max(abs(terminal).max(), *(capacity.max() for capacity in capacities.values()))
        numpy.testing.assert_allclose(flow, graph.maxflow(), rtol=1e-6, atol=most * terminal.size * 2.0**-27)

    def test_mincut_large_flow_is_exact(self):
        most = 2**31 - 1
        terminal = numpy.array([[most, -most], [most, -most]])
        self.assertEqual(gst_regions.mincut(terminal, most, 0)[1], 2 * most)


if __name__ == "__main__":
    unittest.main(verbosity=2)
