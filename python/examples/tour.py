# %% [markdown]
# # A tour of broadloom
#
# Run it as a script, or open it as a notebook: cells begin with `# %%`, which Jupyter (through jupytext), VS Code and Spyder
# understand.

# %%
import numpy as np

import broadloom as bl
import broadloom.numexpr as ne

# %% [markdown]
# Two bands of a satellite image, as counts. The index of vegetation is an expression: nothing is computed when it is written.

# %%
random = np.random.default_rng(7)
nir = random.integers(800, 6000, (1000, 1000), dtype=np.uint16)
red = random.integers(500, 2000, (1000, 1000), dtype=np.uint16)

n, r = (bl.astype(bl.asarray(band), bl.float32) for band in (nir, red))
index = (n - r) / (n + r)
print(index.dtype, index.shape)

# %% [markdown]
# A request for one element computes only that element. A request for all of them runs one loop over both bands, and the
# result is kept.

# %%
print(float(index[0, 0]))
values = np.asarray(index)
expected = (nir.astype(np.float32) - red.astype(np.float32)) / (nir.astype(np.float32) + red.astype(np.float32))
assert np.array_equal(values, expected)

# %% [markdown]
# Reductions are expressions too, and are fused with the operations that compute their elements. The order in which
# elements are combined depends only on their number, so the bits are the same on any machine and with any number of
# threads.

# %%
green = index > 0.2
print("green:", float(bl.mean(bl.astype(green, bl.float32))))
print("rows:", np.asarray(bl.mean(index, axis=1))[:3])
assert int(bl.count_nonzero(green)) == int(np.count_nonzero(expected > 0.2))

# %% [markdown]
# `explain` describes what would run: which loops, over which memory, by which executor, and why. In a notebook, it
# shows a picture.

# %%
print(bl.explain(bl.where(green, index, 0.0)))


# %% [markdown]
# A function that is called again and again is compiled once.


# %%
@bl.jit
def brightened(band, gain, offset):
    return bl.clip(band * gain + offset, 0.0, 1.0)


band = random.random((4, 5), dtype=np.float32)
assert np.array_equal(brightened(band, 2.0, -0.25), np.clip(band * np.float32(2) - np.float32(0.25), 0, 1))
print(brightened.text(band, 2.0, -0.25))

# %% [markdown]
# Texts in numexpr's language run too, with numexpr's dtypes.

# %%
a, b = random.random(10), random.random(10)
assert np.array_equal(ne.evaluate("2*a + 3*b"), 2 * a + 3 * b)
print("done")
