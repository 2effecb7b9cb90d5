"""Neural layers, losses, optimisers and classical learning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.corpus.case import Case, integers, samples, uniform

LEAK = 0.01


def relu(x):
    """The positive part."""
    return np.maximum(x, 0)


def sigmoid(x):
    """The logistic function, without overflow."""
    out = np.empty_like(x)
    positive = x >= 0
    out[positive] = 1 / (1 + np.exp(-x[positive]))
    e = np.exp(x[~positive])
    out[~positive] = e / (1 + e)
    return out


def simple_sigmoid(x):
    """The logistic function as most write it."""
    return 1.0 / (1.0 + np.exp(-x))


ACTIVATIONS = {
    "relu": relu,
    "leaky": lambda x: np.where(x > 0, x, LEAK * x),
    "tanh": np.tanh,
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


class Dense:
    """A layer with its weights as attributes."""

    def __init__(self, inputs, outputs, activation="relu", seed=0):
        self.weights = samples(inputs, outputs, seed=seed) / np.sqrt(inputs)
        self.bias = np.zeros(outputs)
        self.activation = activation

    def __call__(self, x):
        return ACTIVATIONS[self.activation](x @ self.weights + self.bias)


class Network:
    """Several layers in a list."""

    def __init__(self, *sizes):
        self.layers = [Dense(a, b, seed=i) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))]
        self.layers[-1].activation = "tanh"

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@dataclass
class AdamSettings:
    """The usual constants of Adam."""

    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8


ADAM = AdamSettings()


def softmax(x, axis=-1):
    """Exponentials that sum to one."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_sum_exp(x, axis=None):
    """The logarithm of a sum of exponentials."""
    high = x.max(axis=axis, keepdims=True)
    result = np.log(np.sum(np.exp(x - high), axis=axis, keepdims=True)) + high
    return np.squeeze(result, axis=axis)


def cross_entropy(logits, labels):
    """The mean loss of a batch with integer labels."""
    n = logits.shape[0]
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probability = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_probability[np.arange(n), labels].mean()


def cross_entropy_gradient(logits, labels):
    """The gradient of the mean loss, subtracted at the labels in place."""
    gradient = softmax(logits)
    gradient[range(len(labels)), labels] -= 1
    gradient /= len(labels)
    return gradient


def one_hot(labels, classes):
    """Rows with a single one."""
    encoded = np.zeros((labels.size, classes), dtype=np.float32)
    encoded[np.arange(labels.size), labels] = 1
    return encoded


def huber_loss(prediction, target, delta=1.0):
    """Quadratic near zero, linear far away."""
    error = np.abs(prediction - target)
    return np.mean(np.where(error <= delta, 0.5 * error**2, delta * (error - 0.5 * delta)))


def focal_loss(probability, target, gamma=2.0, alpha=0.25):
    """A loss that counts easy examples less."""
    p = np.clip(probability, 1e-7, 1 - 1e-7)
    pt = p * target + (1 - p) * (1 - target)
    weight = alpha * target + (1 - alpha) * (1 - target)
    return (-weight * (1 - pt) ** gamma * np.log(pt)).mean()


def batch_norm(x, gamma, beta, running, training=True, momentum=0.9):
    """Batch normalisation; the running statistics are a dict that is updated."""
    if training:
        mean, var = x.mean(axis=0), x.var(axis=0)
        running["mean"] = momentum * running["mean"] + (1 - momentum) * mean
        running["var"] = momentum * running["var"] + (1 - momentum) * var
    else:
        mean, var = running["mean"], running["var"]
    return gamma * (x - mean) / np.sqrt(var + 1e-5) + beta


def layer_norm(x, scale, shift, eps=1e-5):
    """Layer normalisation over the last axis, in single precision."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return scale * (x - mean) / np.sqrt(variance + eps) + shift


def dense_backward(x, weights, upstream):
    """Gradients of a dense layer, in a dict."""
    return {"x": upstream @ weights.T, "weights": x.T @ upstream, "bias": upstream.sum(axis=0)}


def two_layer_training(x, y, steps=5, rate=0.1):
    """A small network trained by hand-written backpropagation."""
    w1, w2 = samples(x.shape[1], 6, seed=3), samples(6, 1, seed=4)
    losses = []
    for _ in range(steps):
        hidden = np.tanh(x @ w1)
        prediction = hidden @ w2
        error = prediction - y[:, None]
        losses.append(np.mean(error**2))
        grad2 = hidden.T @ error * 2 / len(y)
        grad1 = x.T @ ((error @ w2.T) * (1 - hidden**2)) * 2 / len(y)
        w1 -= rate * grad1
        w2 -= rate * grad2
    return w1, w2, losses


def train_step(params, x, y, rate=0.05):
    """One step for parameters in a dict, returned as a new dict."""
    error = x @ params["w"] + params["b"] - y
    gradients = {"w": x.T @ error / len(y), "b": error.mean()}
    return {name: params[name] - rate * gradients[name] for name in params}


def convolve_images(images, kernels, stride=1):
    """Convolution of a batch by four loops."""
    n, height, width, _ = images.shape
    kh, kw, _, filters = kernels.shape
    oh, ow = (height - kh) // stride + 1, (width - kw) // stride + 1
    out = np.zeros((n, oh, ow, filters))
    for i in range(oh):
        for j in range(ow):
            patch = images[:, i * stride : i * stride + kh, j * stride : j * stride + kw, :]
            out[:, i, j, :] = np.tensordot(patch, kernels, axes=([1, 2, 3], [0, 1, 2]))
    return out


def convolve_by_windows(image, kernels):
    """Convolution as a product with sliding windows."""
    size = kernels.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(image, (size, size))
    return np.einsum("ijkl,fkl->fij", windows, kernels)


def max_pool(x, size=2):
    """Maxima of blocks by reshaping."""
    h, w = x.shape
    return x[: h // size * size, : w // size * size].reshape(h // size, size, -1, size).max((1, 3))


def attention(q, k, v, mask=None):
    """Scaled dot products; an optional mask of what may be seen."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    return softmax(scores) @ v


def causal_heads(x, wq, wk, wv, heads):
    """Several heads of causal attention."""
    length, width = x.shape

    def split(t):
        return t.reshape(length, heads, width // heads).transpose(1, 0, 2)

    q, k, v = (split(x @ w) for w in (wq, wk, wv))
    mask = np.tril(np.ones((length, length), dtype=bool))
    return attention(q, k, v, mask).transpose(1, 0, 2).reshape(length, width)


def lstm_sequence(xs, w, u, b):
    """An LSTM over a sequence, the gates split from one product."""
    size = u.shape[0]
    h, c = np.zeros(size), np.zeros(size)
    outputs = []
    for x in xs:
        i, f, g, o = np.split(x @ w + h @ u + b, 4)
        c = simple_sigmoid(f) * c + simple_sigmoid(i) * np.tanh(g)
        h = simple_sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs), (h, c)


def gru_cell(x, h, params):
    """One step of a gated recurrent unit, its matrices in a dict of dicts."""
    z = simple_sigmoid(x @ params["z"]["w"] + h @ params["z"]["u"])
    r = simple_sigmoid(x @ params["r"]["w"] + h @ params["r"]["u"])
    candidate = np.tanh(x @ params["h"]["w"] + (r * h) @ params["h"]["u"])
    return (1 - z) * h + z * candidate


def embed(tokens, table):
    """Rows of a table with positions added."""
    length, width = tokens.shape[-1], table.shape[1]
    position = np.arange(length)[:, np.newaxis]
    rate = np.exp(np.arange(0, width, 2) * -(np.log(10000.0) / width))
    encoding = np.zeros((length, width))
    encoding[:, 0::2] = np.sin(position * rate)
    encoding[:, 1::2] = np.cos(position * rate)
    return table[tokens] + encoding


def rotary(x, base=10000.0):
    """Rotary position embedding of pairs of channels."""
    length, width = x.shape
    half = width // 2
    angles = np.outer(np.arange(length), base ** (-np.arange(half) / half))
    c, s = np.cos(angles), np.sin(angles)
    x1, x2 = x[:, :half], x[:, half:]
    return np.concatenate([x1 * c - x2 * s, x1 * s + x2 * c], axis=1)


def dropout(x, keep, rate):
    """Dropout by a given mask."""
    if rate == 0:
        return x
    return x * keep / (1 - rate)


def adam_step(parameter, gradient, m, v, t):
    """One step of Adam, settings from a dataclass of the module."""
    m = ADAM.beta1 * m + (1 - ADAM.beta1) * gradient
    v = ADAM.beta2 * v + (1 - ADAM.beta2) * gradient**2
    m_hat = m / (1 - ADAM.beta1**t)
    v_hat = v / (1 - ADAM.beta2**t)
    return parameter - ADAM.rate * m_hat / (np.sqrt(v_hat) + ADAM.epsilon), m, v


def clip_gradients(gradients, limit):
    """A list of gradients scaled to a common norm."""
    total = np.sqrt(sum(np.sum(g**2) for g in gradients))
    if total > limit:
        gradients = [g * (limit / total) for g in gradients]
    return gradients


def gradient_descent(x0, rate=0.01, momentum=0.9, steps=40):
    """Rosenbrock's function by gradient descent with momentum."""
    p = np.array(x0, dtype=float)
    v = np.zeros(2)
    for _ in range(steps):
        x, y = p
        g = np.array([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)]) / 100
        v = momentum * v - rate * g
        p += v
    return p


def line_search(x, direction, gradient):
    """Armijo's rule: the step is halved until it pays."""

    def f(z):
        return np.sum(z**4 - z**2)

    step = 1.0
    start = f(x)
    slope = gradient @ direction
    while f(x + step * direction) > start + 1e-4 * step * slope:
        step /= 2
    return x + step * direction


def golden_section(a, b, steps=30):
    """The minimum of a function of one variable."""
    ratio = (np.sqrt(5) - 1) / 2

    def f(x):
        return (x - 1.3) ** 2 + 0.1 * np.sin(5 * x)

    c, d = b - ratio * (b - a), a + ratio * (b - a)
    for _ in range(steps):
        if f(c) < f(d):
            b = d
        else:
            a = c
        c, d = b - ratio * (b - a), a + ratio * (b - a)
    return (a + b) / 2


def nelder_mead_step(simplex):
    """One step of Nelder and Mead: sort, reflect, expand or contract."""

    def f(p):
        return (p[0] - 1) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2

    values = np.array([f(p) for p in simplex])
    simplex = simplex[np.argsort(values)]
    centre = simplex[:-1].mean(axis=0)
    reflected = centre + (centre - simplex[-1])
    if f(reflected) < f(simplex[0]):
        expanded = centre + 2 * (centre - simplex[-1])
        best = expanded if f(expanded) < f(reflected) else reflected
    elif f(reflected) < f(simplex[-2]):
        best = reflected
    else:
        best = centre + 0.5 * (simplex[-1] - centre)
    simplex[-1] = best
    return simplex


def logistic_regression(x, y, rate=0.5, steps=25):
    """Gradient descent with an intercept column."""
    design = np.c_[np.ones(len(x)), x]
    theta = np.zeros(design.shape[1])
    for _ in range(steps):
        p = simple_sigmoid(design @ theta)
        theta -= rate * design.T @ (p - y) / y.size
    return theta, np.mean((p > 0.5) == y)


def perceptron(x, y, epochs=3):
    """Rosenblatt's rule: the weights change where the sign is wrong."""
    w = np.zeros(x.shape[1])
    mistakes = 0
    for _ in range(epochs):
        for xi, yi in zip(x, y):
            if yi * np.dot(w, xi) <= 0:
                w += yi * xi
                mistakes += 1
    return w, mistakes


def k_means(points, centres, steps=5):
    """Lloyd's algorithm with masks for the members."""
    centres = centres.copy()
    for _ in range(steps):
        distance = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
        labels = distance.argmin(axis=1)
        for k in range(len(centres)):
            members = points[labels == k]
            if len(members) > 0:
                centres[k] = members.mean(axis=0)
    return centres, labels


def k_means_step(points, centres):
    """One step of Lloyd's algorithm by one-hot membership."""
    distance = np.linalg.norm(points[:, None] - centres, axis=-1)
    member = (np.argmin(distance, axis=1)[:, None] == np.arange(len(centres))).astype(float)
    counts = member.sum(axis=0)
    return (member.T @ points) / np.maximum(counts, 1)[:, None]


def principal_axes(data, count=2):
    """Scores of the first principal components by np.linalg.eigh."""
    centred = data - data.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / (len(data) - 1))
    order = np.argsort(values)[::-1][:count]
    return np.abs(centred @ vectors[:, order])


def nearest_neighbours(train, labels, query, k=3):
    """The majority of the nearest labels."""
    distance = np.sqrt(((query[:, None] - train) ** 2).sum(-1))
    nearest = labels[np.argsort(distance, axis=1, kind="stable")[:, :k]]
    return np.array([np.bincount(row, minlength=3).argmax() for row in nearest])


def mixture_step(x, weights, means, variances):
    """Expectation and maximisation for a mixture of Gaussians."""
    density = np.exp(-0.5 * (x[:, None] - means) ** 2 / variances) / np.sqrt(2 * np.pi * variances)
    responsibility = weights * density
    responsibility /= responsibility.sum(axis=1, keepdims=True)
    total = responsibility.sum(axis=0)
    means = responsibility.T @ x / total
    variances = (responsibility * (x[:, None] - means) ** 2).sum(axis=0) / total
    return total / len(x), means, variances


def rbf_kernel(a, b, gamma=0.5):
    """The Gaussian kernel matrix by squared norms."""
    squared = (a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T
    np.maximum(squared, 0, out=squared)
    return np.exp(-gamma * squared)


def confusion_matrix(truth, predicted, classes):
    """Counts of pairs of labels, and the accuracy."""
    matrix = np.zeros((classes, classes), dtype=int)
    for t, p in zip(truth, predicted):
        matrix[t, p] += 1
    return matrix, np.trace(matrix) / matrix.sum()


def best_split(feature, labels):
    """The threshold of a decision stump with the lowest impurity."""
    order = np.argsort(feature)
    x, y = feature[order], labels[order]
    best, threshold = np.inf, x[0]
    for i in range(1, len(x)):
        left, right = y[:i], y[i:]
        p, q = left.mean(), right.mean()
        impurity = i * p * (1 - p) + (len(x) - i) * q * (1 - q)
        if impurity < best:
            best, threshold = impurity, (x[i - 1] + x[i]) / 2
    return threshold, best


def area_under_curve(scores, labels):
    """The area under the receiver operating characteristic."""
    order = np.argsort(-scores)
    hits = labels[order]
    true_rate = np.cumsum(hits) / hits.sum()
    false_rate = np.cumsum(1 - hits) / (1 - hits).sum()
    return np.trapezoid(np.r_[0, true_rate], np.r_[0, false_rate])


def gates(seed, size):
    """Matrices of a gated unit."""
    w = samples(3, 2, size, size, seed=seed)
    return {gate: {"w": w[i, 0], "u": w[i, 1]} for i, gate in enumerate("zrh")}


CASES = [
    Case(sigmoid, lambda: (samples(12),)),
    Case(Network(5, 7, 3).forward, lambda: (samples(4, 5),)),
    Case(softmax, lambda: (samples(4, 6),)),
    Case(log_sum_exp, lambda: (samples(4, 6), 1)),
    Case(cross_entropy, lambda: (samples(6, 4), integers(6, high=4))),
    Case(cross_entropy_gradient, lambda: (samples(6, 4), integers(6, high=4))),
    Case(one_hot, lambda: (integers(6, high=4), 4)),
    Case(huber_loss, lambda: (2 * samples(9), samples(9, seed=1))),
    Case(focal_loss, lambda: (uniform(9), integers(9, high=2))),
    Case(
        batch_norm,
        lambda: (samples(8, 3), np.ones(3), np.zeros(3), {"mean": np.zeros(3), "var": np.ones(3)}),
    ),
    Case(layer_norm, lambda: (samples(4, 8, dtype=np.float32), np.float32(1.5), np.float32(0.1))),
    Case(dense_backward, lambda: (samples(5, 3), samples(3, 4), samples(5, 4))),
    Case(two_layer_training, lambda: (samples(8, 3), samples(8))),
    Case(train_step, lambda: ({"w": samples(3), "b": 0.0}, samples(8, 3), samples(8))),
    Case(convolve_images, lambda: (samples(2, 6, 5, 2), samples(3, 3, 2, 4))),
    Case(convolve_by_windows, lambda: (samples(7, 6), samples(2, 3, 3))),
    Case(max_pool, lambda: (samples(7, 8),)),
    Case(attention, lambda: (samples(2, 5, 4), samples(2, 6, 4), samples(2, 6, 3))),
    Case(causal_heads, lambda: (samples(5, 8), samples(8, 8), samples(8, 8), samples(8, 8), 2)),
    Case(lstm_sequence, lambda: (samples(4, 3), samples(3, 8), samples(2, 8), np.zeros(8))),
    Case(gru_cell, lambda: (samples(4), samples(4, seed=1), gates(2, 4))),
    Case(embed, lambda: (integers(2, 5, high=7), samples(7, 6))),
    Case(rotary, lambda: (samples(5, 6),)),
    Case(dropout, lambda: (samples(5, 6), uniform(5, 6) > 0.2, 0.2)),
    Case(adam_step, lambda: (samples(5), samples(5, seed=1), np.zeros(5), np.zeros(5), 3)),
    Case(clip_gradients, lambda: ([samples(3, 2), samples(4)], 1.0)),
    Case(gradient_descent, lambda: ((-1.0, 1.0),)),
    Case(line_search, lambda: (2 * np.ones(3), -50 * np.ones(3), 28 * np.ones(3))),
    Case(golden_section, lambda: (0.0, 3.0)),
    Case(nelder_mead_step, lambda: (samples(3, 2),)),
    Case(logistic_regression, lambda: (samples(10, 2), integers(10, high=2))),
    Case(perceptron, lambda: (samples(6, 2), np.sign(samples(6, seed=1)))),
    Case(k_means, lambda: (samples(15, 2), samples(3, 2, seed=1))),
    Case(k_means_step, lambda: (samples(15, 2), samples(3, 2, seed=1))),
    Case(principal_axes, lambda: (samples(12, 4),)),
    Case(nearest_neighbours, lambda: (samples(10, 2), integers(10, high=3), samples(4, 2, seed=1))),
    Case(mixture_step, lambda: (samples(15), np.full(2, 0.5), np.array([-1.0, 1.0]), np.ones(2))),
    Case(rbf_kernel, lambda: (samples(5, 3), samples(4, 3))),
    Case(confusion_matrix, lambda: (integers(12, high=3), integers(12, high=3, seed=1), 3)),
    Case(best_split, lambda: (samples(9), integers(9, high=2))),
    Case(area_under_curve, lambda: (samples(15), integers(15, high=2))),
]
