"""Compiled loops of the bagged extremely randomised trees.

Shapes: T trees, n table rows (observations), m nodes (at most 2n - 1), f features, R places where the function is
wanted, S samples of it, B simulated tests, K outcomes of each.

Growing (Geurts, Ernst, Wehenkel 2006, "Extremely randomized trees", one cut per feature): at a node, feature j is cut
at low_j + u (high_j - low_j), low and high over the node's rows and u a pure hash of (tree, path from the root, j);
the feature with the largest reduction of the weighted variance wins, near-ties go to another hash. Rows of weight 0
are not in the tree.

Two facts make regrowing with one more row cheap, and equal bit for bit to growing from nothing:
* u depends on the path alone, so a subtree that the new row does not enter is the same as long as the cuts above it
  are;
* targets are multiples of 2^-32 (see `on_grid`) and weights are whole, so sums of them are exact in any order, and
  "old sum + new term" has the same bits as the full sum.

All kernels are in this one file because numba looks only at a kernel's own file to see whether its cache is stale.
The inner loops index whole arrays, and copy by loops: each slice costs numba two atomic updates of a counter, which
together took half of the time, and `a[:] = b` brings in string formatting that takes longer to compile than all else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Places32 = NDArray[np.int32]
Hashes = NDArray[np.uint64]
Records = NDArray[np.void]
Record = Any  # one of Records; its fields are those of NODE or CUT below

LEAF = -1
GRID = 2.0**32
NEAR_TIE = 1e-10  # relative difference of two variance reductions that counts as rounding

NODE = np.dtype(
    [
        ("path", np.uint64),  # hash of (seed, tree, turns from the root)
        ("start", np.int64),  # the node's rows are forest.rows[t, start:stop], in no order
        ("stop", np.int64),
        ("feature", np.int64),  # the one that is cut, LEAF at a leaf
        ("cut", np.float64),  # rows with x <= cut go left
        ("left", np.int64),  # the children are left and left + 1
        ("weight", np.float64),  # sum of weights
        ("total", np.float64),  # sum of weight * y
        ("value", np.float64),  # total / weight
    ]
)
CUT = np.dtype(  # one feature at one inner node
    [
        ("low", np.float64),  # smallest x of the node's rows
        ("high", np.float64),
        ("at", np.float64),  # where this feature would be cut
        ("left_weight", np.float64),  # sum of weights left of it
        ("left_total", np.float64),  # sum of weight * y left of it
    ]
)


class TrainingTable(NamedTuple):
    """Rows the trees are grown on."""

    x: Floats  # [n, f]
    y: Floats  # [n] on the grid
    weight: Floats  # [T, n] how often the bootstrap of each tree drew each row


class Forest(NamedTuple):
    """T grown trees; node 0 is the root."""

    rows: Ints  # [T, n]
    size: Ints  # [T] number of nodes
    nodes: Records  # [T, m] of NODE
    cuts: Records  # [T, m, f] of CUT


class Places(NamedTuple):
    """R rows where the function is wanted, sorted into the trees."""

    x: Floats  # [R, f]
    values: Floats  # [T, R] each tree's value at each place
    order: Ints  # [T, R] places of each tree; those of a node are order[span[0]:span[1]]
    span: Ints  # [T, m, 2]


class Bench(NamedTuple):
    """Scratch space of one thread for simulated tests: the table with one row to spare, and a tree to grow in."""

    table: TrainingTable  # n + 1 rows, the last is the simulated test
    min_leaf: int
    tree: Forest  # one tree of n + 1 rows
    places: Places  # sorted into that tree; its values [T, R] are those of all regrown trees


class Tournament(NamedTuple):
    """Which of R places is the largest in S samples of the function: the samples before the test, and scratch
    space.
    """

    mix: Singles  # [T, S] sample s at place r is sum_t mix[t, s] values[t, r]
    present: Singles  # [R, S] the samples before the test
    present_key: Hashes  # [R] hash of values[:, r] in single precision
    key: Hashes  # [R] the same after it
    slots: Ints  # [a power of two, at least 2R] hash table of places by key; -1 is free
    change: Ints  # [R] the first change of each place in the lists below, -1 if none
    next_change: Ints  # [T R] the next change of the same place
    tree: Ints  # [T R] the tree whose value changed
    amount: Singles  # [T R] by how much
    twin: Ints  # [R] the first place of which all trees say the same
    twins: Ints  # [R] how many places a first place stands for
    sample: Singles  # [S]
    best: Singles  # [S]
    winner: Places32  # [S] first place with the largest value
    wins: Ints  # [R]


def on_grid(y: Floats) -> Floats:
    """Targets rounded to multiples of 2^-32 (standardised ones lie within +-sqrt(n), so a double holds their sums)."""
    return np.rint(y * GRID) / GRID


def empty_forest(trees: int, rows: int, features: int) -> Forest:
    """Room for trees over at most `rows` rows."""
    nodes = 2 * rows - 1
    return Forest(
        rows=np.zeros((trees, rows), np.int64),
        size=np.zeros(trees, np.int64),
        nodes=np.zeros((trees, nodes), NODE),
        cuts=np.zeros((trees, nodes, features), CUT),
    )


def empty_places(forest: Forest, x: Floats) -> Places:
    """Room for the rows of x in the forest's trees; `sort_places` fills it."""
    shape = (len(forest.size), len(x))
    return Places(x, np.zeros(shape), np.zeros(shape, np.int64), np.zeros((*forest.nodes.shape, 2), np.int64))


def make_bench(table: TrainingTable, added: Floats, min_leaf: int, at: Floats) -> Bench:
    """Scratch for one more row, which enters tree t with weight added[t], and the places `at` [R, f]."""
    rows, features = table.x.shape
    tree = empty_forest(1, rows + 1, features)
    return Bench(
        table=TrainingTable(
            np.concatenate([table.x, np.zeros((1, features))]),
            np.append(table.y, 0.0),
            np.concatenate([table.weight, added[:, None]], axis=1),
        ),
        min_leaf=min_leaf,
        tree=tree,
        places=empty_places(tree, at)._replace(values=np.zeros((len(added), len(at)))),
    )


def make_tournament(mix: Singles, places: int) -> Tournament:
    """A tournament over the places in the samples of mix [T, S]; `start_tournament` fills it."""
    trees, samples = mix.shape
    return Tournament(
        mix=mix,
        present=np.zeros((places, samples), np.float32),
        present_key=np.zeros(places, np.uint64),
        key=np.zeros(places, np.uint64),
        slots=np.zeros(2 << places.bit_length(), np.int64),
        change=np.zeros(places, np.int64),
        next_change=np.zeros(trees * places, np.int64),
        tree=np.zeros(trees * places, np.int64),
        amount=np.zeros(trees * places, np.float32),
        twin=np.zeros(places, np.int64),
        twins=np.zeros(places, np.int64),
        sample=np.zeros(samples, np.float32),
        best=np.zeros(samples, np.float32),
        winner=np.zeros(samples, np.int32),
        wins=np.zeros(places, np.int64),
    )


def fork_tournament(tournament: Tournament) -> Tournament:
    """The same tournament with scratch of its own, for another thread."""
    shared = ("mix", "present", "present_key")
    return tournament._replace(
        **{name: getattr(tournament, name).copy() for name in tournament._fields if name not in shared}
    )


# -------------------- growing


@njit(cache=True, nogil=True, error_model="numpy")
def draw(path: np.uint64, number: int) -> np.uint64:
    """Random bits number `number` of a node: splitmix64 (Steele, Lea, Flood 2014) from the state `path`."""
    z = path + np.uint64(0x9E3779B97F4A7C15) * np.uint64(number + 1)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, error_model="numpy")
def place_cut(path: np.uint64, feature: int, low: float, high: float) -> float:
    """A threshold in [low, high), uniform. (Numbers 0 and 1 of a node are its children's paths.)"""
    u = np.int64(draw(path, 2 + feature) >> np.uint64(11)) * 2.0**-53
    cut = low + u * (high - low)
    return cut if cut < high else low


@njit(cache=True, nogil=True, error_model="numpy")
def _tie_draw(path: np.uint64, features: int, first: int, second: int) -> bool:
    return bool(draw(path, 2 + features + first) > draw(path, 2 + features + second))


@njit(cache=True, nogil=True, error_model="numpy")
def choose(forest: Forest, t: int, index: int, path: np.uint64, weight: float, total: float) -> int:
    """The feature whose cut reduces the weighted variance most, LEAF if no feature has rows on both sides.

    Up to a factor that is the node's own, the reduction is (S_l W - S W_l)^2 / (W_l W_r). With few rows many features
    part them alike: such ties are drawn, for a fixed order would favour the first features.
    """
    features = forest.cuts.shape[2]
    best, best_score = LEAF, -1.0
    for j in range(features):
        cut = forest.cuts[t, index, j]
        if 0.0 < cut.left_weight < weight:
            shift = cut.left_total * weight - total * cut.left_weight
            score = shift * shift / (cut.left_weight * (weight - cut.left_weight))
            tied = abs(score - best_score) <= NEAR_TIE * best_score
            if best == LEAF or (_tie_draw(path, features, j, best) if tied else score > best_score):
                best, best_score = j, score
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_rows(forest: Forest, slot: int, node: Record, table: TrainingTable, t: int) -> bool:
    """Fill in the sums over the node's rows; whether y varies in it."""
    first = table.y[forest.rows[slot, node.start]]
    weights, total, varies = 0.0, 0.0, False
    for i in range(node.start, node.stop):
        row = forest.rows[slot, i]
        weights += table.weight[t, row]
        total += table.weight[t, row] * table.y[row]
        varies |= table.y[row] != first
    node.weight, node.total, node.value = weights, total, total / weights
    return varies


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_left(forest: Forest, slot: int, node: Record, table: TrainingTable, t: int, j: int, cut: Record) -> None:
    """Sum the node's rows left of the cut of feature j."""
    left_weight, left_total = 0.0, 0.0
    for i in range(node.start, node.stop):
        row = forest.rows[slot, i]
        is_left = table.x[row, j] <= cut.at
        left_weight += table.weight[t, row] if is_left else 0.0
        left_total += table.weight[t, row] * table.y[row] if is_left else 0.0
    cut.left_weight, cut.left_total = left_weight, left_total


@njit(cache=True, nogil=True, error_model="numpy")
def _try_cuts(forest: Forest, slot: int, index: int, table: TrainingTable, t: int) -> None:
    """Draw a cut of every feature between its extremes over the node's rows, and sum what lies left of it."""
    node = forest.nodes[slot, index]
    for j in range(table.x.shape[1]):
        cut = forest.cuts[slot, index, j]
        low = high = table.x[forest.rows[slot, node.start], j]
        for i in range(node.start + 1, node.stop):
            x = table.x[forest.rows[slot, i], j]
            low, high = min(low, x), max(high, x)
        cut.low, cut.high = low, high
        if low < high:
            cut.at = place_cut(node.path, j, low, high)
            _sum_left(forest, slot, node, table, t, j, cut)
        else:
            cut.at, cut.left_weight, cut.left_total = low, node.weight, node.total


@njit(cache=True, nogil=True, error_model="numpy")
def _part(rows: Ints, slot: int, start: int, stop: int, x: Floats, node: Record) -> int:
    """Move rows left of the node's cut to the front of rows[slot, start:stop]; returns where the right begins."""
    middle = start
    for i in range(start, stop):
        row = rows[slot, i]
        rows[slot, i] = rows[slot, middle]
        rows[slot, middle] = row
        middle += x[row, node.feature] <= node.cut
    return middle


@njit(cache=True, nogil=True, error_model="numpy")
def _split(forest: Forest, slot: int, index: int, table: TrainingTable, t: int, min_leaf: int) -> bool:
    """Give a node its value and, unless it is a leaf, two children; whether it has them.

    The tree is in row `slot` of the forest and has the weights of tree t.
    """
    node = forest.nodes[slot, index]
    node.feature = LEAF
    if _sum_rows(forest, slot, node, table, t) and node.stop - node.start > min_leaf:
        _try_cuts(forest, slot, index, table, t)
        node.feature = choose(forest, slot, index, node.path, node.weight, node.total)
    if node.feature == LEAF:
        return False
    node.cut, node.left = forest.cuts[slot, index, node.feature].at, forest.size[slot]
    forest.size[slot] += 2
    middle = _part(forest.rows, slot, node.start, node.stop, table.x, node)
    left, right = forest.nodes[slot, node.left], forest.nodes[slot, node.left + 1]
    left.path, left.start, left.stop = draw(node.path, 0), node.start, middle
    right.path, right.start, right.stop = draw(node.path, 1), middle, node.stop
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def grow_forest(forest: Forest, table: TrainingTable, seed: np.uint64, min_leaf: int) -> None:
    """Grow every tree on the rows that its bootstrap drew, level by level: the nodes themselves are the queue."""
    for t in range(len(forest.size)):
        root = forest.nodes[t, 0]
        root.path, root.start, root.stop = draw(draw(seed, 0), t), 0, 0
        for row in range(len(table.y)):
            if table.weight[t, row] > 0.0:
                forest.rows[t, root.stop] = row
                root.stop += 1
        forest.size[t] = 1
        index = 0
        while index < forest.size[t]:
            _split(forest, t, index, table, t, min_leaf)
            index += 1


# -------------------- predicting


@njit(cache=True, nogil=True, error_model="numpy")
def moments(values: Floats, floor: float, mean: Floats, sd: Floats) -> None:
    """Mean and deviation over trees (T - 1 in the denominator) of values [T, R], the deviation at least `floor`."""
    trees = len(values)
    mean[:] = 0.0
    sd[:] = 0.0
    for t in range(trees):
        for r in range(len(mean)):
            mean[r] += values[t, r]
    for r in range(len(mean)):
        mean[r] /= trees
    for t in range(trees):
        for r in range(len(mean)):
            sd[r] += (values[t, r] - mean[r]) ** 2
    for r in range(len(mean)):
        sd[r] = max(floor, np.sqrt(sd[r] / max(trees - 1, 1)))


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(forest: Forest, x: Floats, values: Floats) -> None:
    """values[t, r] = the value of tree t at row r of x."""
    for t in range(len(values)):
        for r in range(len(x)):
            node = forest.nodes[t, 0]
            while node.feature != LEAF:
                node = forest.nodes[t, node.left + (x[r, node.feature] > node.cut)]
            values[t, r] = node.value


@njit(cache=True, nogil=True, error_model="numpy")
def _hand_down(places: Places, slot: int, index: int, node: Record) -> None:
    """Part the places of an inner node among its children; row `slot` of `order` and `span` belongs to its tree."""
    start, stop = places.span[slot, index, 0], places.span[slot, index, 1]
    middle = _part(places.order, slot, start, stop, places.x, node)
    places.span[slot, node.left, 0], places.span[slot, node.left, 1] = start, middle
    places.span[slot, node.left + 1, 0], places.span[slot, node.left + 1, 1] = middle, stop


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(places: Places, slot: int, index: int, t: int, value: float) -> None:
    """Let tree t say `value` of the places in a leaf."""
    for i in range(places.span[slot, index, 0], places.span[slot, index, 1]):
        places.values[t, places.order[slot, i]] = value


@njit(cache=True, nogil=True, error_model="numpy")
def sort_places(forest: Forest, places: Places) -> None:
    """Fill in where the places lie in each tree, and the trees' values there."""
    for t in range(len(places.values)):
        for r in range(len(places.x)):
            places.order[t, r] = r
        places.span[t, 0, 0], places.span[t, 0, 1] = 0, len(places.x)
        for index in range(forest.size[t]):
            node = forest.nodes[t, index]
            if node.feature == LEAF:
                _settle(places, t, index, t, node.value)
            else:
                _hand_down(places, t, index, node)


# -------------------- regrowing


@njit(cache=True, nogil=True, error_model="numpy")
def _try_cuts_again(forest: Forest, t: int, index: int, table: TrainingTable, tree: Forest) -> int:
    """The choice of an inner node when the table's last row comes to it, from the sums over its old rows.

    The cuts it tries are left with the root of `tree`.
    """
    new = len(table.y) - 1
    node, weight = forest.nodes[t, index], table.weight[t, new]
    total = weight * table.y[new]
    for j in range(table.x.shape[1]):
        x, old, cut = table.x[new, j], forest.cuts[t, index, j], tree.cuts[0, 0, j]
        if old.low <= x <= old.high:
            cut.at, cut.left_weight, cut.left_total = old.at, old.left_weight, old.left_total
        else:
            cut.at = place_cut(node.path, j, min(old.low, x), max(old.high, x))
            _sum_left(forest, t, node, table, t, j, cut)
        if x <= cut.at:
            cut.left_weight += weight
            cut.left_total += total
    return choose(tree, 0, 0, node.path, node.weight + weight, node.total + total)


@njit(cache=True, nogil=True, error_model="numpy")
def _uproot(forest: Forest, t: int, index: int, new: int, tree: Forest) -> None:
    """Make `tree` a root with the rows of a node and the row `new`."""
    node, root = forest.nodes[t, index], tree.nodes[0, 0]
    count = node.stop - node.start
    for i in range(count):
        tree.rows[0, i] = forest.rows[t, node.start + i]
    tree.rows[0, count] = new
    root.path, root.start, root.stop = node.path, 0, count + 1
    tree.size[0] = 1


@njit(cache=True, nogil=True, error_model="numpy")
def _grow_rest(places: Places, t: int, index: int, bench: Bench) -> None:
    """Grow the bench's tree from its root, with the places of node `index` of tree t, and not where there are none."""
    table, tree, riders = bench.table, bench.tree, bench.places
    first, last = places.span[t, index, 0], places.span[t, index, 1]
    for i in range(last - first):
        riders.order[0, i] = places.order[t, first + i]
    riders.span[0, 0, 0], riders.span[0, 0, 1] = 0, last - first
    grown = 0
    while grown < tree.size[0]:
        if riders.span[0, grown, 0] < riders.span[0, grown, 1]:
            if _split(tree, 0, grown, table, t, bench.min_leaf):
                _hand_down(riders, 0, grown, tree.nodes[0, grown])
            else:
                _settle(riders, 0, grown, t, tree.nodes[0, grown].value)
        grown += 1


@njit(cache=True, nogil=True, error_model="numpy")
def regrow(forest: Forest, bench: Bench, places: Places, x: Floats, y: float) -> None:
    """bench.places.values [T, R]: the trees' values at the places when (x, y) joins the table.

    Follows the new row down each tree as long as the cuts stay where they are, and grows the rest from there; not at
    all where no place is left to speak of.
    """
    table, tree, values = bench.table, bench.tree, bench.places.values
    new = len(table.y) - 1
    table.y[new] = y
    for j in range(len(x)):
        table.x[new, j] = x[j]
    for t in range(len(places.values)):
        for r in range(len(places.x)):
            values[t, r] = places.values[t, r]
        index = 0
        while table.weight[t, new] > 0.0 and places.span[t, index, 0] < places.span[t, index, 1]:
            node = forest.nodes[t, index]
            feature = LEAF if node.feature == LEAF else _try_cuts_again(forest, t, index, table, tree)
            if feature == LEAF or feature != node.feature or tree.cuts[0, 0, feature].at != node.cut:
                _uproot(forest, t, index, new, tree)
                _grow_rest(places, t, index, bench)
                break
            index = node.left + (x[feature] > node.cut)


@njit(cache=True, nogil=True, error_model="numpy")
def simulate(
    forest: Forest, bench: Bench, places: Places, x: Floats, y: Floats, floor: float, mean: Floats, sd: Floats
) -> None:
    """Moments [B, K, R] at the places after each of the tests x [B, f] with each of the outcomes y [B, K]."""
    for b in range(len(x)):
        for k in range(y.shape[1]):
            regrow(forest, bench, places, x[b], y[b, k])
            moments(bench.places.values, floor, mean[b, k], sd[b, k])


# -------------------- where the optimum lies


@njit(cache=True, nogil=True, error_model="numpy")
def _bits(value: float, t: int) -> np.uint64:
    """Hash of tree t's value, in single precision; a place's key is the sum of these."""
    return draw(np.uint64(np.float32(value).view(np.uint32)), t)


@njit(cache=True, nogil=True, error_model="numpy")
def _find_twins(tournament: Tournament) -> None:
    """Gather the places with equal keys: no tree tells them apart, they tie in every sample and share their wins."""
    mask = np.uint64(len(tournament.slots) - 1)
    tournament.slots[:] = -1
    for r in range(len(tournament.key)):
        slot = tournament.key[r] & mask
        while tournament.slots[slot] >= 0 and tournament.key[tournament.slots[slot]] != tournament.key[r]:
            slot = (slot + np.uint64(1)) & mask
        if tournament.slots[slot] < 0:
            tournament.slots[slot] = r
            tournament.twins[r] = 0
        first = tournament.slots[slot]
        tournament.twin[r] = first
        tournament.twins[first] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _compare(sample: Singles, place: np.int32, best: Singles, winner: Places32) -> None:
    """Let a place win the samples in which it is larger than all before it."""
    for s in range(len(sample)):
        better = sample[s] > best[s]
        best[s] = sample[s] if better else best[s]
        winner[s] = place if better else winner[s]


@njit(cache=True, nogil=True, error_model="numpy")
def _divergence(tournament: Tournament) -> float:
    """KL(p_opt || uniform) over the places, from the winners of the samples; also counts tournament.wins."""
    samples, places = len(tournament.winner), len(tournament.wins)
    tournament.wins[:] = 0
    for s in range(samples):
        tournament.wins[tournament.winner[s]] += 1
    result = 0.0
    for r in range(places):
        if tournament.wins[r] > 0:
            share = tournament.wins[r] / samples
            result += share * np.log(share * places / tournament.twins[r])
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def start_tournament(tournament: Tournament, values: Floats) -> float:
    """Fill in the samples before any test, from values [T, R]; their divergence."""
    tournament.present[:] = 0.0
    tournament.key[:] = 0
    tournament.best[:] = -np.inf
    for r in range(len(tournament.present)):
        for t in range(len(tournament.mix)):
            tournament.key[r] += _bits(values[t, r], t)
            value = np.float32(values[t, r])
            for s in range(len(tournament.sample)):
                tournament.present[r, s] += tournament.mix[t, s] * value
    _find_twins(tournament)
    for r in range(len(tournament.present)):
        tournament.present_key[r] = tournament.key[r]
        _compare(tournament.present[r], np.int32(r), tournament.best, tournament.winner)
    return _divergence(tournament)


@njit(cache=True, nogil=True, error_model="numpy")
def _list_changes(tournament: Tournament, before: Floats, after: Floats) -> None:
    """Note for each place which trees say `after` instead of `before` [T, R], and bring its key up to date."""
    trees, places = before.shape
    count = 0
    for r in range(places):
        tournament.key[r], tournament.change[r] = tournament.present_key[r], -1
    for t in range(trees):
        for r in range(places):
            if after[t, r] != before[t, r]:
                tournament.key[r] += _bits(after[t, r], t) - _bits(before[t, r], t)
                tournament.tree[count], tournament.amount[count] = t, after[t, r] - before[t, r]
                tournament.next_change[count], tournament.change[r] = tournament.change[r], count
                count += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _divergence_after(tournament: Tournament, before: Floats, after: Floats) -> float:
    """The divergence when the trees say `after` instead of `before` [T, R]; only the few changes are worked on."""
    _list_changes(tournament, before, after)
    _find_twins(tournament)
    tournament.best[:] = -np.inf
    for r in range(len(tournament.twin)):
        if tournament.twin[r] != r:
            continue
        for s in range(len(tournament.sample)):
            tournament.sample[s] = tournament.present[r, s]
        change = tournament.change[r]
        while change >= 0:
            t, amount = tournament.tree[change], tournament.amount[change]
            for s in range(len(tournament.sample)):
                tournament.sample[s] += tournament.mix[t, s] * amount
            change = tournament.next_change[change]
        _compare(tournament.sample, np.int32(r), tournament.best, tournament.winner)
    return _divergence(tournament)


@njit(cache=True, nogil=True, error_model="numpy")
def expected_divergences(
    forest: Forest,
    bench: Bench,
    places: Places,
    tournament: Tournament,
    x: Floats,
    y: Floats,
    chance: Floats,
    result: Floats,
) -> None:
    """result[b] = sum_k chance[k] KL(p_opt || uniform) after test x[b] with outcome y[b, k]."""
    for b in range(len(x)):
        result[b] = 0.0
        for k in range(y.shape[1]):
            regrow(forest, bench, places, x[b], y[b, k])
            result[b] += chance[k] * _divergence_after(tournament, places.values, bench.places.values)
