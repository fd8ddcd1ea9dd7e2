#!/usr/bin/env python3
"""mincut of grids with any number of axes and of one-way capacities, compared with SciPy and PyMaxflow."""

import itertools
import unittest

import gst_regions
import numpy
from hypothesis import given
from hypothesis import strategies as st
from references import reference, view_of


def half_of_neighbours(axes, connectivity):
    """One offset of each pair of opposite neighbours."""
    return [offset for offset in itertools.product((-1, 0, 1), repeat=axes)
            if 0 < axes - offset.count(0) <= connectivity and next(filter(None, offset)) > 0]


@st.composite
def graphs(draw):
    """A terminal array of 1 to 4 axes, and a mapping from offsets to capacities in both directions."""
    axes = draw(st.integers(1, 4))
    shape = draw(st.tuples(*[st.integers(1, 9 if axes < 3 else 5)] * axes) if draw(st.booleans())
                 else st.permutations([1] * (axes - 1) + [draw(st.integers(1, 60))]).map(tuple))
    offsets = draw(st.permutations(half_of_neighbours(axes, axes)))[:draw(st.integers(0, 13))]
    choose = numpy.random.default_rng(draw(st.integers(0, 2**32)))
    most = draw(st.sampled_from([1, 3, 100, 10**6]))

    def capacity():
        kind = draw(st.sampled_from(["any", "sparse", "zero", "number"]))
        if kind == "number":
            return draw(st.integers(0, most))
        values = choose.integers(0, most, shape, endpoint=True)
        return values * (0 if kind == "zero" else 1 if kind == "any" else choose.random(shape) < 0.3)
    terminal = choose.integers(-2 * most, 2 * most, shape, endpoint=True)
    terminal *= choose.random(shape) < draw(st.sampled_from([0.1, 0.5, 1]))
    links = {}
    for offset in offsets:
        offset = tuple(-step for step in offset) if draw(st.booleans()) else offset
        links[offset] = capacity() if draw(st.booleans()) else (capacity(), capacity())
    return terminal, links


def arcs(shape, links):
    """(capacity, from, to) of all links inside the grid, in both directions."""
    index = numpy.arange(numpy.prod(shape)).reshape(shape)
    for offset, capacity in links.items():
        here = tuple(slice(max(0, -step), side - max(0, step)) for step, side in zip(offset, shape))
        there = tuple(slice(max(0, step), side - max(0, -step)) for step, side in zip(offset, shape))
        forward, backward = (numpy.broadcast_to(one, shape)[here].ravel().tolist()
                             for one in (capacity if isinstance(capacity, tuple) else (capacity,) * 2))
        first, second = index[here].ravel().tolist(), index[there].ravel().tolist()
        yield from zip(forward, first, second)
        yield from zip(backward, second, first)


def largest_cut_by_scipy(terminal, links):
    """The flow, and the elements that cannot reach the sink."""
    sparse, csgraph = reference("scipy.sparse"), reference("scipy.sparse.csgraph")
    source, sink = terminal.size, terminal.size + 1
    edges = list(arcs(terminal.shape, links))
    edges += [(t, source, i) if t > 0 else (-t, i, sink) for i, t in enumerate(terminal.ravel().tolist())]
    value, row, column = map(numpy.array, zip(*edges))
    graph = sparse.csr_array((value.astype(numpy.int32), (row, column)), (terminal.size + 2,) * 2)
    found = csgraph.maximum_flow(graph, source, sink)
    left = sparse.csr_array(graph - found.flow)
    left.data = (left.data > 0).astype(numpy.int8)
    left.eliminate_zeros()
    reaches = csgraph.breadth_first_order(left.T.tocsr(), sink, return_predecessors=False)
    foreground = numpy.ones(terminal.size + 2, bool)
    foreground[reaches] = False
    return found.flow_value, foreground[:-2].reshape(terminal.shape)


class DirectedCuts(unittest.TestCase):
    @given(st.data())
    def test_mincut_of_a_random_graph_has_the_flow_and_the_foreground_of_scipy(self, data):
        terminal, links = data.draw(graphs())
        want_flow, want = largest_cut_by_scipy(terminal, links)
        foreground, flow = gst_regions.mincut(view_of(data.draw, terminal), links=links)
        self.assertEqual(flow, want_flow)
        numpy.testing.assert_array_equal(foreground, want)

    def test_mincut_of_volumes_equals_pymaxflow(self):
        maxflow = reference("maxflow")
        choose = numpy.random.default_rng(5)
        for shape in ((1, 1, 300), (7, 1, 9), (5, 8, 6), (12, 12, 12)):
            for connectivity in (1, 2, 3):
                source, sink = choose.integers(0, 200, (2, *shape))
                graph = maxflow.GraphInt()
                nodes = graph.add_grid_nodes(shape)
                links = {}
                for offset in half_of_neighbours(3, connectivity):
                    links[offset] = choose.integers(0, 40, (2, *shape))
                    structure = numpy.zeros((3, 3, 3))
                    structure[tuple(1 + step for step in offset)] = 1
                    graph.add_grid_edges(nodes, links[offset][0], structure=structure, symmetric=False)
                    # PyMaxflow's capacity of an edge is at its first node, also in the opposite direction.
                    back = numpy.zeros(shape, int)
                    there = tuple(slice(max(0, step), side - max(0, -step)) for step, side in zip(offset, shape))
                    here = tuple(slice(max(0, -step), side - max(0, step)) for step, side in zip(offset, shape))
                    back[there] = links[offset][1][here]
                    graph.add_grid_edges(nodes, back, structure=structure[::-1, ::-1, ::-1], symmetric=False)
                graph.add_grid_tedges(nodes, source, sink)
                links = {offset: tuple(capacity) for offset, capacity in links.items()}
                foreground, flow = gst_regions.mincut((source, sink), links=links)
                self.assertEqual(flow, graph.maxflow(), (shape, connectivity))
                # PyMaxflow's segments are False at the source's side, and one of several minimum cuts.
                self.assertTrue((foreground | graph.get_grid_segments(nodes)).all())

    def test_mincut_of_a_picture_with_links_equals_that_with_right_and_down(self):
        choose = numpy.random.default_rng(6)
        terminal = choose.integers(-30, 31, (40, 50))
        weights = choose.integers(0, 20, (4, 40, 50))
        names = ("right", "down", "down_right", "down_left")
        offsets = ((0, 1), (1, 0), (1, 1), (1, -1))
        for count in (2, 4):
            want, value = gst_regions.mincut(terminal, **dict(zip(names, weights[:count])))
            symmetric = dict(zip(offsets, weights[:count]))
            directed = {offset: (weight, weight) for offset, weight in symmetric.items()}
            pairs = dict(zip(names, [(weight, weight) for weight in weights[:count]]))
            for how in ({"links": symmetric}, {"links": directed}, pairs):
                foreground, flow = gst_regions.mincut(terminal, **how)
                self.assertEqual(flow, value)
                numpy.testing.assert_array_equal(foreground, want)
            numpy.testing.assert_array_equal(gst_regions.mincut(terminal, links=9, connectivity=count // 2)[0],
                                             gst_regions.mincut(terminal, *[9] * count)[0])

    def test_mincut_one_way_capacity_separates_in_one_direction_only(self):
        terminal = numpy.array([[9, 0, -9]])
        self.assertEqual(gst_regions.mincut(terminal, (4, 0), 0)[1], 4)
        self.assertEqual(gst_regions.mincut(terminal, (0, 4), 0)[1], 0)
        foreground, _ = gst_regions.mincut(-terminal, (0, 4), 0)
        self.assertEqual(foreground.tolist(), [[False, True, True]])

    def test_mincut_infinite_terminals_fix_the_side(self):
        choose = numpy.random.default_rng(7)
        for shape in ((20, 30), (6, 7, 8)):
            links = {offset: choose.random(shape) for offset in half_of_neighbours(len(shape), len(shape))}
            terminal = choose.normal(size=shape)
            side = choose.choice([0, numpy.inf, -numpy.inf], shape, p=[0.8, 0.1, 0.1])
            hard = numpy.where(side == 0, terminal, side)
            large = numpy.where(side == 0, terminal, numpy.copysign(1000, side))
            foreground, flow = gst_regions.mincut(hard, links=links)
            want, value = gst_regions.mincut(large, links=links)
            numpy.testing.assert_array_equal(foreground, want)
            self.assertTrue(foreground[side > 0].all() and not foreground[side < 0].any())
            self.assertAlmostEqual(flow, value, delta=1e-3)
        pair = numpy.array([[numpy.inf, 3.0, 0]]), numpy.array([[2.0, 0, numpy.inf]])
        self.assertEqual(gst_regions.mincut(pair, 1, 0)[1], 3)  # 2 directly, and one link

    def test_mincut_of_disconnected_elements_depends_on_each_terminal_alone(self):
        terminal = numpy.random.default_rng(8).integers(-3, 4, (5, 6, 7))
        foreground, flow = gst_regions.mincut(terminal, links={})
        numpy.testing.assert_array_equal(foreground, terminal >= 0)
        self.assertEqual(flow, 0)
        self.assertTrue(gst_regions.mincut(numpy.zeros((2, 3, 4), int), links=1)[0].all())

    def test_mincut_long_line_has_the_flow_of_its_weakest_link(self):
        for shape in ((1, 1, 100000), (100000, 1, 1), (100000,)):
            terminal = numpy.zeros(shape, numpy.int32)
            terminal.flat[0], terminal.flat[-1] = 2**31 - 1, -2**31
            capacity = numpy.full(shape, 1000)
            capacity.flat[70000] = 7
            foreground, flow = gst_regions.mincut(terminal, links=capacity)
            self.assertEqual((flow, int(foreground.sum())), (7, 70001))

    def test_mincut_of_volumes_with_the_largest_capacities_is_exact(self):
        most = 2**31 - 1
        terminal = numpy.zeros((3, 3, 3), numpy.int64)
        terminal[0], terminal[2] = most, -most
        links = {(1, 0, 0): (most, most), (0, 1, 0): most, (0, 0, 1): (most, 0)}
        self.assertEqual(gst_regions.mincut(terminal, links=links)[1], 9 * most)

    def test_mincut_output_is_written_and_returned(self):
        out = numpy.zeros((2, 3, 4), bool)
        self.assertIs(gst_regions.mincut(numpy.ones((2, 3, 4), int), links=1, out=out)[0], out)
        self.assertTrue(out.all())

    def test_mincut_unsuitable_links_error_names_the_problem(self):
        volume, picture = numpy.ones((2, 3, 4), int), numpy.ones((2, 3), int)
        for words, how in ((r"offset \(0, 1\), must have tuples of 3 numbers", {"links": {(0, 1): 1}}),
                           (r"offset \(0, 0, 0\)", {"links": {(0, 0, 0): 1}}),
                           (r"offset \(0, 0, 2\)", {"links": {(0, 0, 2): 1}}),
                           ("belong to the same link", {"links": {(0, 0, 1): 1, (0, 0, -1): 2}}),
                           (r"links\[\(0, 0, 1\)\] has shape \(2, 3\)", {"links": {(0, 0, 1): picture}}),
                           ("negative", {"links": (1, -1)}), ("NaN or infinite", {"links": numpy.inf}),
                           ("must fit in int32", {"links": 2**31}), ("connectivity is 4", {"links": 1, "connectivity": 4})):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                gst_regions.mincut(volume, **how)
        with self.assertRaisesRegex(ValueError, "links of 40 offsets, must have at most 13"):
            gst_regions.mincut(numpy.ones((2, 2, 2, 2), int), links=1, connectivity=4)
        with self.assertRaisesRegex(ValueError, "has no elements"):
            gst_regions.mincut(numpy.ones((2, 0, 4), int), links=1)
        with self.assertRaisesRegex(TypeError, "cannot be combined"):
            gst_regions.mincut(picture, 1, 1, links=1)
        with self.assertRaisesRegex(TypeError, "requires down"):
            gst_regions.mincut(picture, 1)
        with self.assertRaisesRegex(ValueError, "has 3 axes, must have 2"):
            gst_regions.mincut(volume, 1, 1)
        with self.assertRaisesRegex(TypeError, "uint8, which cannot be negative"):
            gst_regions.mincut(volume.astype("u1"), links=1)
        with self.assertRaisesRegex(ValueError, "two directions, which WarmCut does not support"):
            gst_regions.WarmCut().cut(picture, (1, 2), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
