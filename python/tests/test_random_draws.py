"""Tests what holds for every draw of `broadloom.random`: views, batches of keys and jitted functions see the same bits; what can't
be drawn is refused. Also the generator with the names of NumPy's methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_draws import FAILURES, SIZES, WHOLE, Draw, every_draw, same

import broadloom as bl


@every_draw
def test_an_element_depends_on_the_key_and_its_place_alone(draw: Draw) -> None:
    key = bl.random.key(41)
    lazy = draw(key, 4097)
    assert isinstance(lazy, bl.Array) and lazy.shape == (4097,)
    whole = np.asarray(lazy)
    assert whole.dtype == lazy.dtype
    same(lazy, whole)
    for n in SIZES:
        same(draw(key, n), whole[:n])
    for shape in ([3, 5], (3, 5), (2, 3, 7), (1, 1), (17, 241), (0, 3), (4, 0), [9], (3, 1, 2)):
        same(draw(key, shape), whole[: int(np.prod(shape))].reshape(shape))
    same(draw(key, ()), whole[0])
    same(draw(key, []), whole[0])
    other = np.asarray(draw(bl.random.key(42), 4097))
    assert whole.tobytes() != other.tobytes()


@every_draw
def test_a_batch_of_keys_draws_what_each_key_draws(draw: Draw) -> None:
    key = bl.random.key(43)
    keys = bl.random.split(key, 3)
    for shape in ((), (7,), (3, 5)):
        made = draw(keys, shape)
        assert made.shape == (3, *shape)
        same(made, np.stack([np.asarray(draw(keys[member], shape)) for member in range(3)]))
    same(draw(keys[::-1], 7), np.asarray(draw(keys, 7))[::-1])
    folded = bl.random.fold_in(key, bl.asarray(np.arange(6).reshape(2, 3)))
    made = draw(folded, 5)
    assert made.shape == (2, 3, 5)
    same(made[1, 2], draw(bl.random.fold_in(key, 5), 5))
    same(draw(folded[:0], 5), np.asarray(made)[:0])


@every_draw
def test_a_view_has_the_bits_of_the_whole(draw: Draw) -> None:
    key = bl.random.key(44)
    whole = np.asarray(draw(key, (37, 111)))

    def drawn() -> Any:
        # A new array each time, so that the view is computed without the values of the whole.
        return draw(key, (37, 111))

    same(drawn()[5:20], whole[5:20])
    same(drawn()[::-1], whole[::-1])
    same(drawn()[30:2:-3, 100:3:-7], whole[30:2:-3, 100:3:-7])
    same(drawn()[3], whole[3])
    same(drawn()[:, -1], whole[:, -1])
    same(drawn()[36, 110], whole[36, 110])
    same(drawn().T, whole.T)
    same(drawn().T[7:, ::-2], whole.T[7:, ::-2])
    same(bl.reshape(drawn(), (111, 37)), whole.reshape(111, 37))
    same(bl.reshape(drawn().T, (-1,))[5:], whole.T.reshape(-1)[5:])
    same(draw(key, 4107)[::-1], np.asarray(draw(key, 4107))[::-1])
    same(bl.broadcast_to(draw(key, (37, 1)), (2, 37, 3)), np.broadcast_to(np.asarray(draw(key, (37, 1))), (2, 37, 3)))


@every_draw
def test_a_jitted_function_draws_the_same_bits(draw: Draw) -> None:
    jitted = bl.jit(lambda key: draw(key, (13, 79)))
    reversed_columns = bl.jit(lambda key: draw(key, (13, 79)).T[::-1])
    child = bl.jit(lambda key: draw(bl.random.fold_in(key, 3), 9))
    for seed in (45, 2**50 + 1):
        key = bl.random.key(seed)
        whole = np.asarray(draw(key, (13, 79)))
        same(jitted(key), whole)
        same(jitted(np.asarray(key)), whole)
        same(reversed_columns(key), whole.T[::-1])
        same(child(key), draw(bl.random.fold_in(key, 3), 9))
    keys = bl.random.split(bl.random.key(46), 2)
    same(jitted(keys), draw(keys, (13, 79)))


@every_draw
def test_any_number_of_threads_draws_the_same_bits(draw: Draw) -> None:
    key = bl.random.key(47)
    made = []
    for threads in (1, 2):
        with bl.set_options(threads=threads):
            made.append(np.asarray(draw(key, (251, 401))))
    same(made[0], made[1])
    same(bl.jit(lambda key: draw(key, (251, 401)), threads=2)(key), made[0])
    same(made[0].ravel()[:1000], draw(key, 1000))


def test_draws_fuse_with_other_operations() -> None:
    key, x = bl.random.key(48), np.linspace(0, 1, 1001)
    uniform, normal = (np.asarray(draw(key, 1001)) for draw in (bl.random.uniform, bl.random.normal))
    same(bl.random.uniform(key, 1001) * 2 - 1, uniform * 2 - 1)
    same(bl.asarray(x) + bl.random.normal(key, 1001), x + normal)
    same(bl.jit(lambda key, x: x + bl.random.normal(key, 1001))(key, x), x + normal)
    same(bl.random.uniform(key, 1001) - bl.random.uniform(key, 1001), np.zeros(1001))
    hits = bl.random.bernoulli(key, 0.25, 1001)
    assert int(bl.sum(bl.where(hits, 1, 0))) == np.count_nonzero(np.asarray(hits))
    assert float(bl.max(bl.random.uniform(key, 1001))) == uniform.max()


def test_keys_are_derived_inside_a_jitted_function() -> None:
    key = bl.random.key(49)
    same(bl.jit(lambda key: bl.random.split(key, 3))(key), bl.random.split(key, 3))
    same(
        bl.jit(lambda key, data: bl.random.fold_in(key, data))(key, np.arange(4)), bl.random.fold_in(key, bl.arange(4))
    )
    made = bl.jit(lambda key: bl.random.uniform(bl.random.split(key, 3)[1], 5))(key)
    same(made, bl.random.uniform(bl.random.split(key, 3)[1], 5))
    same(
        bl.jit(lambda key: bl.random.uniform(bl.random.split(key, 3), 5))(key),
        bl.random.uniform(bl.random.split(key, 3), 5),
    )


@pytest.mark.parametrize("shape", [-1, (3, -2)])
def test_a_negative_extent_is_refused(shape: Any) -> None:
    with pytest.raises(FAILURES):
        bl.random.uniform(bl.random.key(1), shape)


#: The parameters, after the shape, of each draw that has a dtype.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "bits": (),
    "normal": (),
    "exponential": (),
    "laplace": (),
    "logistic": (),
    "gumbel": (),
    "cauchy": (),
    "lognormal": (1.0,),
    "integers": (0, 5),
    "gamma": (2.0,),
    "beta": (2.0, 3.0),
    "chisquare": (2.0,),
    "student_t": (2.0,),
    "poisson": (2.0,),
    "binomial": (5, 0.5),
    "geometric": (0.5,),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_float16_is_refused_except_by_uniform(name: str) -> None:
    with pytest.raises(bl.Error):
        getattr(bl.random, name)(bl.random.key(1), *ARGUMENTS[name], 3, dtype=bl.float16)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "uint16", "float32", "bool"])
def test_bits_are_unsigned_integers_of_32_or_64_bits(dtype: str) -> None:
    with pytest.raises(FAILURES):
        bl.random.bits(bl.random.key(1), 3, dtype=getattr(bl, dtype))


def test_default_dtypes() -> None:
    key = bl.random.key(1)
    assert bl.random.uniform(key, 3).dtype == bl.float64
    for name, arguments in ARGUMENTS.items():
        expected = {"bits": bl.uint32}.get(name, bl.int64 if name in WHOLE | {"integers"} else bl.float64)
        assert getattr(bl.random, name)(key, *arguments, 3).dtype == expected


# The generator with NumPy's methods.

SIZE = (2, 3)

#: A call of a method, the same call with NumPy's names of the parameters, and the draw that it is for its key.
METHODS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Draw]] = {
    "random": (lambda g: g.random(SIZE), lambda g: g.random(size=SIZE), lambda key, n: bl.random.uniform(key, n)),
    "uniform": (
        lambda g: g.uniform(-2.0, 6.0, SIZE),
        lambda g: g.uniform(low=-2.0, high=6.0, size=SIZE),
        lambda key, n: bl.random.uniform(key, n) * 8 - 2,
    ),
    "integers": (
        lambda g: g.integers(-4, 10, SIZE),
        lambda g: g.integers(low=-4, high=10, size=SIZE),
        lambda key, n: bl.random.integers(key, -4, 10, n),
    ),
    "integers from 0": (
        lambda g: g.integers(10, None, SIZE),
        lambda g: g.integers(10, size=SIZE),
        lambda key, n: bl.random.integers(key, 0, 10, n),
    ),
    "integers and their end": (
        lambda g: g.integers(1, 6, SIZE, endpoint=True),
        lambda g: g.integers(low=1, high=6, size=SIZE, endpoint=True),
        lambda key, n: bl.random.integers(key, 1, 7, n),
    ),
    "integers of int16": (
        lambda g: g.integers(1, 6, SIZE, bl.int16),
        lambda g: g.integers(1, 6, size=SIZE, dtype=bl.int16),
        lambda key, n: bl.random.integers(key, 1, 6, n, dtype=bl.int16),
    ),
    "standard_normal": (
        lambda g: g.standard_normal(SIZE),
        lambda g: g.standard_normal(size=SIZE),
        lambda key, n: bl.random.normal(key, n),
    ),
    "normal": (
        lambda g: g.normal(100.0, 2.5, SIZE),
        lambda g: g.normal(loc=100.0, scale=2.5, size=SIZE),
        lambda key, n: bl.random.normal(key, n) * 2.5 + 100,
    ),
    "lognormal": (
        lambda g: g.lognormal(1.5, 0.5, SIZE),
        lambda g: g.lognormal(mean=1.5, sigma=0.5, size=SIZE),
        lambda key, n: bl.exp(bl.random.normal(key, n) * 0.5 + 1.5),
    ),
    "standard_exponential": (
        lambda g: g.standard_exponential(SIZE),
        lambda g: g.standard_exponential(size=SIZE),
        lambda key, n: bl.random.exponential(key, n),
    ),
    "exponential": (
        lambda g: g.exponential(3.0, SIZE),
        lambda g: g.exponential(scale=3.0, size=SIZE),
        lambda key, n: bl.random.exponential(key, n) * 3,
    ),
    "laplace": (
        lambda g: g.laplace(-50.0, 3.0, SIZE),
        lambda g: g.laplace(loc=-50.0, scale=3.0, size=SIZE),
        lambda key, n: bl.random.laplace(key, n) * 3 - 50,
    ),
    "logistic": (
        lambda g: g.logistic(-50.0, 3.0, SIZE),
        lambda g: g.logistic(loc=-50.0, scale=3.0, size=SIZE),
        lambda key, n: bl.random.logistic(key, n) * 3 - 50,
    ),
    "gumbel": (
        lambda g: g.gumbel(-50.0, 3.0, SIZE),
        lambda g: g.gumbel(loc=-50.0, scale=3.0, size=SIZE),
        lambda key, n: bl.random.gumbel(key, n) * 3 - 50,
    ),
    "standard_cauchy": (
        lambda g: g.standard_cauchy(SIZE),
        lambda g: g.standard_cauchy(size=SIZE),
        lambda key, n: bl.random.cauchy(key, n),
    ),
    "standard_gamma": (
        lambda g: g.standard_gamma(2.5, SIZE),
        lambda g: g.standard_gamma(shape=2.5, size=SIZE),
        lambda key, n: bl.random.gamma(key, 2.5, n),
    ),
    "gamma": (
        lambda g: g.gamma(2.5, 4.0, SIZE),
        lambda g: g.gamma(shape=2.5, scale=4.0, size=SIZE),
        lambda key, n: bl.random.gamma(key, 2.5, n) * 4,
    ),
    "beta": (
        lambda g: g.beta(2.0, 0.5, SIZE),
        lambda g: g.beta(a=2.0, b=0.5, size=SIZE),
        lambda key, n: bl.random.beta(key, 2.0, 0.5, n),
    ),
    "chisquare": (
        lambda g: g.chisquare(3.0, SIZE),
        lambda g: g.chisquare(df=3.0, size=SIZE),
        lambda key, n: bl.random.chisquare(key, 3.0, n),
    ),
    "standard_t": (
        lambda g: g.standard_t(3.0, SIZE),
        lambda g: g.standard_t(df=3.0, size=SIZE),
        lambda key, n: bl.random.student_t(key, 3.0, n),
    ),
    "poisson": (
        lambda g: g.poisson(40.0, SIZE),
        lambda g: g.poisson(lam=40.0, size=SIZE),
        lambda key, n: bl.random.poisson(key, 40.0, n),
    ),
    "binomial": (
        lambda g: g.binomial(100, 0.4, SIZE),
        lambda g: g.binomial(n=100, p=0.4, size=SIZE),
        lambda key, n: bl.random.binomial(key, 100, 0.4, n),
    ),
    "geometric": (
        lambda g: g.geometric(0.05, SIZE),
        lambda g: g.geometric(p=0.05, size=SIZE),
        lambda key, n: bl.random.geometric(key, 0.05, n),
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_generator_draws_from_a_key_of_its_call(name: str) -> None:
    positional, named, draw = METHODS[name]
    seed = 2**40 + 5
    one, two = bl.random.Generator(seed), bl.random.Generator(seed)
    calls = [np.asarray(positional(one)) for _ in range(3)]
    for number, made in enumerate(calls):
        expected = np.asarray(draw(bl.random.fold_in(bl.random.key(seed), number), SIZE))
        assert (made.dtype, made.shape) == (expected.dtype, SIZE)
        if made.dtype.kind == "f":
            np.testing.assert_allclose(made, expected, rtol=1e-13, atol=1e-13)
        else:
            np.testing.assert_array_equal(made, expected)
        lazy = named(two)
        assert isinstance(lazy, bl.Array)
        same(lazy, made)
    # Small counts may repeat by chance, but not in three calls of this seed.
    assert any(made.tobytes() != calls[0].tobytes() for made in calls[1:])


def test_the_generator_counts_its_calls() -> None:
    seed = 17
    generator = bl.random.Generator(seed)
    key = bl.random.key(seed)
    same(generator.random(5), bl.random.uniform(bl.random.fold_in(key, 0), 5))
    same(generator.standard_normal(4), bl.random.normal(bl.random.fold_in(key, 1), 4))
    # The number of a call is that of its method call, whenever the array is evaluated.
    third, fourth = generator.random(3), generator.integers(1000, size=3)
    same(fourth, bl.random.integers(bl.random.fold_in(key, 3), 0, 1000, 3))
    same(third, bl.random.uniform(bl.random.fold_in(key, 2), 3))
    assert np.asarray(generator.random()).shape == ()
    same(generator.random((2, 2)), bl.random.uniform(bl.random.fold_in(key, 5), (2, 2)))
    assert (
        np.asarray(bl.random.Generator(18).random(5)).tobytes()
        != np.asarray(bl.random.Generator(17).random(5)).tobytes()
    )


@pytest.mark.parametrize("arguments", [(0,), (5, 5), (5, 4)])
def test_an_empty_range_of_the_generator_is_refused(arguments: tuple[int, ...]) -> None:
    with pytest.raises(FAILURES):
        bl.random.Generator(1).integers(*arguments, size=3)


def test_the_generators_defaults_are_numpys() -> None:
    seed, key = 19, bl.random.fold_in(bl.random.key(19), 0)

    def generator() -> Any:
        return bl.random.Generator(seed)

    same(generator().uniform(size=4), bl.random.uniform(key, 4))
    same(generator().normal(size=4), bl.random.normal(key, 4))
    same(generator().exponential(size=4), bl.random.exponential(key, 4))
    same(generator().laplace(size=4), bl.random.laplace(key, 4))
    same(generator().logistic(size=4), bl.random.logistic(key, 4))
    same(generator().gumbel(size=4), bl.random.gumbel(key, 4))
    same(generator().lognormal(size=4), bl.random.lognormal(key, 1.0, 4))
    same(generator().gamma(2.0, size=4), bl.random.gamma(key, 2.0, 4))
