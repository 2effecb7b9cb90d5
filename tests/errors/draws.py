"""Programs that ask `pyc.random` for what it does not give.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

from pyc import random, scipy
from tests.errors.case import LINE, MATRIX, PAIRS, given

KEY = np.array([1, 2], np.uint32)

# --- keys -----------------------------------------------------------------------------------------


@given(3)
def seed_for_a_key(seed):
    return random.uniform(seed, (3,))


@given(np.zeros((4, 2), np.uint32))
def several_keys_for_one(keys):
    return random.normal(keys)


@given(np.array([0, 1]))
def key_of_other_integers(key):
    return random.split(key)


@given(LINE)
def shape_for_a_key(x):
    return x + random.normal(x.shape)


@given(LINE)
def real_seed(x):
    return random.uniform(random.key(x[0]), (4,)) + x


@given(LINE)
def seed_of_many_bits(x):
    return random.uniform(random.key(2**64), (4,)) + x


@given(KEY, LINE)
def names_folded_in(key, x):
    return random.uniform(random.fold_in(key, "dropout"), (4,)) + x


@given(KEY, np.arange(3))
def several_numbers_folded_in(key, steps):
    return random.fold_in(key, steps)


# --- types and shapes -----------------------------------------------------------------------------


@given(KEY)
def uniform_integers(key):
    return random.uniform(key, (3,), np.int32)


@given(KEY)
def signed_bits(key):
    return random.bits(key, (3,), np.int32)


@given(KEY, MATRIX)
def shape_of_numbers_with_a_fraction(key, m):
    return random.normal(key, (2.5,)) + m


@given(KEY)
def shape_below_zero(key):
    return random.normal(key, (3, -1))


@given(KEY, LINE)
def ends_of_another_shape(key, low):
    return random.uniform(key, (2, 3), np.float64, low)


@given(KEY, LINE)
def ends_of_more_axes(key, low):
    return random.uniform(key, (), np.float64, low)


@given(KEY, PAIRS)
def complex_ends(key, low):
    return random.uniform(key, (2,), np.float64, low)


@given(KEY, LINE)
def real_ends_of_integers(key, x):
    return random.randint(key, (4,), 0, x)


@given(KEY)
def integers_beyond_their_type(key):
    return random.randint(key, (4,), 0, 300, np.uint8)


@given(KEY)
def integers_below_their_type(key):
    return random.randint(key, (4,), -1, 3, np.uint32)


@given(KEY, LINE)
def probabilities_of_another_shape(key, p):
    return random.bernoulli(key, p / 4, (3,))


# --- choosing -------------------------------------------------------------------------------------


@given(KEY, LINE)
def permutation_of_a_number(key, x):
    return random.permutation(key, x[0])


@given(KEY, LINE)
def permutation_along_no_axis(key, x):
    return random.permutation(key, x, axis=1)


@given(KEY, LINE)
def choice_among_a_number(key, x):
    return random.choice(key, x.sum(), (3,))


@given(KEY, LINE)
def choice_of_more_than_there_are(key, x):
    return random.choice(key, x, (5,), replace=False)


@given(KEY)
def choice_of_some_among_none(key):
    return random.choice(key, 0, (5,))


@given(KEY, LINE)
def choice_by_too_few_weights(key, x):
    return random.choice(key, x, (5,), p=x[1:])


@given(KEY, MATRIX)
def categories_of_another_shape(key, logits):
    return random.categorical(key, logits, shape=(5,))


@given(KEY, MATRIX)
def categories_along_no_axis(key, logits):
    return random.categorical(key, logits, axis=2)


@given(KEY, np.zeros((3, 0)))
def categories_of_none(key, logits):
    return random.categorical(key, logits)


@given(KEY, PAIRS)
def complex_logits(key, logits):
    return random.categorical(key, logits)


# --- parameters -----------------------------------------------------------------------------------


@given(KEY, LINE, MATRIX)
def parameters_of_shapes_that_do_not_broadcast(key, a, b):
    return random.beta(key, a, np.ones((2, 7)))


@given(KEY, LINE)
def parameters_beyond_the_shape(key, a):
    return random.gamma(key, a, (2, 3))


@given(KEY)
def dirichlet_of_a_number(key):
    return random.dirichlet(key, 0.5)


@given(KEY, MATRIX)
def mean_without_its_covariances(key, m):
    return random.multivariate_normal(key, np.zeros(2), m)


@given(KEY, np.eye(3))
def means_of_another_length(key, c):
    return random.multivariate_normal(key, np.zeros(2), c)


@given(KEY, np.eye(3))
def normal_numbers_by_another_method(key, c):
    return random.multivariate_normal(key, np.zeros(3), c, method="svd")


@given(KEY, PAIRS)
def complex_rates(key, rates):
    return random.poisson(key, rates)


@given(KEY)
def unsigned_signs(key):
    return random.rademacher(key, (3,), np.uint8)


# --- special functions ----------------------------------------------------------------------------


@given(PAIRS)
def logistic_function_of_complex_numbers(x):
    return scipy.special.expit(x)


@given(PAIRS)
def softmax_of_complex_numbers(x):
    return scipy.special.softmax(x)
