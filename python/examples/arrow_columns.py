# %% [markdown]
# # Columns of Polars and pyarrow, with their nulls
#
# Run it as a script, or open it as a notebook. It needs pyarrow and Polars.

# %%
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import broadloom as bl

# %% [markdown]
# A million measurements of a weather station, some of which are missing.

# %%
random = np.random.default_rng(7)
count = 1_000_000
temperature = pa.array(random.normal(15, 8, count), mask=random.random(count) < 0.05)
humidity = pa.array(random.uniform(20, 100, count), mask=random.random(count) < 0.02)
frame = pl.DataFrame({"temperature": temperature, "humidity": humidity})

# %% [markdown]
# The columns share memory with Polars. The dew point (by Magnus' formula) is an expression of values and nulls: nothing is computed yet.

# %%
t, h = bl.from_arrow(frame["temperature"]), bl.from_arrow(frame["humidity"])
gamma = bl.log(h / 100) + 17.62 * t / (243.12 + t)
dew_point = 243.12 * gamma / (17.62 - gamma)

# %% [markdown]
# Back in Polars, an element is null if either column contains a null there. Values and nulls were computed in one pass.

# %%
frame = frame.with_columns(dew_point=pl.Series(dew_point))
missing = frame["temperature"].is_null() | frame["humidity"].is_null()
assert frame["dew_point"].is_null().equals(missing)
print(frame.head())

# %% [markdown]
# Reductions skip nulls, as pyarrow's reductions do.

# %%
print("mean:", float(bl.mean(dew_point)), pc.mean(pa.array(dew_point)).as_py())
frost = bl.count_nonzero((t < 0).fill_null(False))
print("frost:", int(frost), pc.sum(pc.less(temperature, 0.0)).as_py())
assert int(frost) == pc.sum(pc.less(temperature, 0.0)).as_py()

# %% [markdown]
# A gap is filled with the value from another sensor, or else with a number.

# %%
second_sensor = bl.from_arrow(pa.array(random.normal(15, 8, count), mask=random.random(count) < 0.05))
filled = t.fill_null(second_sensor)
print("nulls:", t.null_count, "after filling:", filled.null_count)
assert pa.array(filled).equals(pc.coalesce(temperature, pa.array(second_sensor)))
print("done")
