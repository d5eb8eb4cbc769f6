//! Generates the data sets under `examples/data`: two bands like a satellite's, an elevation model and a time series.
//!
//! The four `.npy` files have the same bytes on every machine: their values are computed only by addition, multiplication,
//! division and square root, which IEEE 754 defines exactly. Other functions differ between mathematics libraries.
//!
//! `cargo run -p broadloom-cli --example make_data` writes the files.

use std::io::{self, Write};
use std::path::Path;

use npyz::WriterBuilder;

fn main() -> io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    std::fs::create_dir_all(&directory)?;
    for (name, bytes) in files()? {
        std::fs::write(directory.join(name), &bytes)?;
        writeln!(io::stdout(), "{name}: {} bytes", bytes.len())?;
    }
    Ok(())
}

/// The name and the contents of each file.
pub fn files() -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let scene = Scene::new(240, 320);
    let (red, nir) = scene.bands();
    let elevation = elevation(201, 301);
    let series = series(3000);
    Ok(vec![
        ("red.npy", npy(&[240, 320], &red)?),
        ("nir.npy", npy(&[240, 320], &nir)?),
        ("elevation.npy", npy(&[201, 301], &elevation)?),
        ("series.npy", npy(&[3000], &series)?),
    ])
}

fn npy<T: npyz::Serialize + npyz::AutoSerialize + Copy>(shape: &[u64], values: &[T]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut bytes).begin_nd()?;
    writer.extend(values.iter().copied())?;
    writer.finish()?;
    Ok(bytes)
}

/// Two bands over a valley: a river, fields on both sides, forest in the hills, a village, a few clouds.
struct Scene {
    rows: usize,
    columns: usize,
}

/// The reflectance of a type of ground cover, in the red and in the near infrared.
#[derive(Clone, Copy)]
struct Cover {
    red: f64,
    nir: f64,
}

const WATER: Cover = Cover { red: 0.035, nir: 0.018 };
const SAND: Cover = Cover { red: 0.230, nir: 0.290 };
const FOREST: Cover = Cover { red: 0.028, nir: 0.330 };
const MEADOW: Cover = Cover { red: 0.060, nir: 0.360 };
const ROOF: Cover = Cover { red: 0.210, nir: 0.230 };
const ROAD: Cover = Cover { red: 0.140, nir: 0.160 };
/// The ground covers of fields: wheat, clover, stubble, maize, ploughed soil, rape, barley.
const CROPS: [Cover; 7] = [
    Cover { red: 0.055, nir: 0.450 },
    Cover { red: 0.045, nir: 0.520 },
    Cover { red: 0.190, nir: 0.270 },
    Cover { red: 0.075, nir: 0.400 },
    Cover { red: 0.165, nir: 0.215 },
    Cover { red: 0.095, nir: 0.430 },
    Cover { red: 0.120, nir: 0.330 },
];

impl Cover {
    fn mix(self, other: Cover, share: f64) -> Cover {
        let mix = |a: f64, b: f64| a + (b - a) * share;
        Cover { red: mix(self.red, other.red), nir: mix(self.nir, other.nir) }
    }

    fn scaled(self, by: f64) -> Cover {
        Cover { red: self.red * by, nir: self.nir * by }
    }
}

impl Scene {
    fn new(rows: usize, columns: usize) -> Scene {
        Scene { rows, columns }
    }

    /// Both bands in C order, as reflectance times 10000.
    fn bands(&self) -> (Vec<u16>, Vec<u16>) {
        let mut bands = (Vec::new(), Vec::new());
        for i in 0..self.rows * self.columns {
            let (y, x) = ((i / self.columns) as f64, (i % self.columns) as f64);
            let pixel = self.seen(x, y);
            // Random noise like that of a sensor: a few counts.
            let grain = |seed| 14.0 * (value(seed, x as i64, y as i64) - 0.5);
            bands.0.push((pixel.red * 10_000.0 + grain(91)).clamp(1.0, 10_000.0) as u16);
            bands.1.push((pixel.nir * 10_000.0 + grain(92)).clamp(1.0, 10_000.0) as u16);
        }
        bands
    }

    /// The reflectance seen through the atmosphere, including clouds and their shadows.
    fn seen(&self, x: f64, y: f64) -> Cover {
        let cloud = cloud(x, y);
        // The sun is in the south-east, so shadows are offset to the north-west.
        let shade = cloud_shadow(x, y);
        let lit = self.ground(x, y).scaled(1.0 - 0.55 * shade);
        let haze = Cover { red: 0.012, nir: 0.004 };
        let white = 0.55 + 0.25 * fractal(71, x / 9.0, y / 9.0, 3);
        let top = Cover { red: white, nir: white * 1.03 };
        Cover { red: lit.red + haze.red, nir: lit.nir + haze.nir }.mix(top, cloud)
    }

    fn ground(&self, x: f64, y: f64) -> Cover {
        let (distance, width) = river(x, y);
        let texture = 1.0 + 0.22 * (fractal(11, x / 5.0, y / 5.0, 3) - 0.5);
        let hill = hills(x, y);
        let mut cover = field(x, y);
        cover = cover.mix(MEADOW, ramp(distance, width + 13.0, width + 7.0));
        cover = cover.mix(ROOF.scaled(0.7 + 0.6 * value(31, x as i64 / 2, y as i64 / 2)), village(x, y));
        cover = cover.mix(ROAD, road(x, y));
        let crowns = 0.72 + 0.5 * fractal(41, x / 2.3, y / 2.3, 2);
        cover = cover.mix(FOREST.scaled(crowns), ramp(hill, 0.52, 0.56));
        cover = cover.mix(SAND, ramp(distance, width + 2.6, width + 1.4));
        let cover = cover.scaled(texture);
        cover.mix(
            WATER.scaled(0.9 + 0.2 * fractal(51, x / 30.0, y / 4.0, 2)),
            ramp(distance, width + 0.6, width - 0.6),
        )
    }
}

/// The distance of a point from the middle of the river, and half of the river's width.
fn river(x: f64, y: f64) -> (f64, f64) {
    let wind = |y: f64| 150.0 + 0.32 * (y - 120.0) + 95.0 * (fractal(61, y / 95.0, 0.5, 2) - 0.5);
    // The distance is measured across the river. Where the river runs obliquely, it is shorter than the distance along the
    // row.
    let slope = wind(y + 1.0) - wind(y - 1.0);
    let distance = (x - wind(y)).abs() / (1.0 + slope * slope / 4.0).sqrt();
    (distance, 3.6 + 2.2 * fractal(62, y / 40.0, 2.5, 2) + y / 90.0)
}

/// Height above the valley, from 0 in the valley to 1 on the hills.
fn hills(x: f64, y: f64) -> f64 {
    let (distance, _) = river(x, y);
    0.62 * fractal(21, x / 85.0, y / 85.0, 5) + 0.30 * (distance / 170.0).min(1.0)
}

/// The cover of a field. Fields are strips with slightly curved boundaries.
fn field(x: f64, y: f64) -> Cover {
    let (bx, by) =
        (x + 7.0 * fractal(22, x / 60.0, y / 60.0, 2), y + 7.0 * fractal(23, x / 60.0, y / 60.0, 2));
    // The blocks are rotated, so that no boundary runs along the rows.
    let (u, v) = ((0.91 * bx + 0.41 * by) / 41.0, (0.91 * by - 0.41 * bx) / 29.0);
    let block = (u.floor() as i64, v.floor() as i64);
    let (mut fu, mut fv) = (u - u.floor(), v - v.floor());
    // Most blocks are divided into fields, in one of two directions.
    let (parts, is_across) =
        (1 + (value(24, block.0, block.1) * 4.0) as i64, value(25, block.0, block.1) < 0.5);
    let along = if is_across { &mut fu } else { &mut fv };
    let strip = (*along * parts as f64) as i64;
    *along = *along * parts as f64 - strip as f64;
    let kind = value(26 + strip as u64, block.0, block.1);
    let crop = CROPS[((kind * CROPS.len() as f64) as usize).min(CROPS.len() - 1)];
    // Growth varies within a field, and sowing rows are visible.
    let growth = 0.86 + 0.28 * fractal(27, x / 17.0, y / 17.0, 3);
    let drill = 0.97 + 0.03 * ((fv * 24.0) as i64 % 2) as f64;
    let edge = fu.min(1.0 - fu).min(fv.min(1.0 - fv));
    Cover { red: crop.red / growth, nir: crop.nir * growth * drill }.mix(MEADOW, ramp(edge, 0.05, 0.02))
}

fn road(x: f64, y: f64) -> f64 {
    let course = 62.0 + 0.22 * x + 16.0 * (fractal(32, x / 80.0, 7.5, 2) - 0.5);
    ramp((y - course).abs(), 1.3, 0.6)
}

fn village(x: f64, y: f64) -> f64 {
    let (dx, dy) = ((x - 246.0) / 25.0, (y - 121.0) / 17.0);
    let inside =
        ramp((dx * dx + dy * dy).sqrt() + 0.7 * (fractal(33, x / 12.0, y / 12.0, 2) - 0.5), 1.0, 0.85);
    let is_house = value(34, x as i64 / 3, y as i64 / 3) < 0.62;
    inside * if is_house { 1.0 } else { 0.15 }
}

fn cloud(x: f64, y: f64) -> f64 {
    // Clouds cover only one or two corners.
    let cover = fractal(72, x / 44.0, y / 34.0, 5) + 0.17 * fractal(73, x / 150.0, y / 150.0, 1);
    ramp(cover, 0.735, 0.81)
}

fn cloud_shadow(x: f64, y: f64) -> f64 {
    cloud(x + 13.0, y + 11.0)
}

/// Elevation in metres above the sea, as float32: mountains with a valley.
fn elevation(rows: usize, columns: usize) -> Vec<f32> {
    let at = |i: usize| {
        let (y, x) = ((i / columns) as f64, (i % columns) as f64);
        let bend = |seed| 46.0 * (fractal(seed, x / 90.0, y / 90.0, 4) - 0.5);
        let (u, v) = (x + bend(88), y + bend(89));
        let range = ridged(81, u / 105.0, v / 105.0, 7);
        let swell = fractal(82, x / 160.0, y / 160.0, 2);
        (180.0 + 260.0 * swell + 1900.0 * range * range * range * (0.25 + swell)) as f32
    };
    (0..rows * columns).map(at).collect()
}

/// Hourly readings of a sensor: a daily cycle, a slow trend, weather, noise, a gap and a few spikes.
fn series(length: usize) -> Vec<f64> {
    let at = |i: usize| {
        let t = i as f64;
        if (1710..1738).contains(&i) {
            return f64::NAN;
        }
        let day = wave(t / 24.0 - 0.25);
        let weather = fractal(83, t / 130.0, 3.5, 4) - 0.5;
        let sunny = 0.55 + 0.9 * fractal(84, t / 60.0, 9.5, 2);
        let noise = value(85, i as i64, 0) + value(86, i as i64, 0) - 1.0;
        let spike = if value(87, i as i64, 0) > 0.9985 { 9.0 } else { 0.0 };
        11.5 + 6.5 * wave(t / 6000.0 - 0.1) + 3.6 * day * sunny + 13.0 * weather + 0.35 * noise + spike
    };
    (0..length).map(at).collect()
}

/// Approximates the sine of an angle in turns by two parabolas, so that no mathematics library is involved.
fn wave(turns: f64) -> f64 {
    let t = turns - turns.floor();
    if t < 0.5 { 16.0 * t * (0.5 - t) } else { -16.0 * (t - 0.5) * (1.0 - t) }
}

/// A smooth step from 0 at `zero` to 1 at `one`, which may be the smaller of the two.
fn ramp(x: f64, zero: f64, one: f64) -> f64 {
    smooth(((x - zero) / (one - zero)).clamp(0.0, 1.0))
}

fn smooth(t: f64) -> f64 {
    t * t * (3.0 - 2.0 * t)
}

/// Noise of several octaves, from 0 to 1.
fn fractal(seed: u64, x: f64, y: f64, octaves: u32) -> f64 {
    let (mut sum, mut weight, mut scale) = (0.0, 0.0, 1.0);
    for octave in 0..octaves {
        let share = 1.0 / scale;
        sum += share * noise(seed + 1000 * u64::from(octave), x * scale, y * scale);
        weight += share;
        scale *= 2.0;
    }
    sum / weight
}

/// Noise of several octaves with sharp crests, from 0 to 1.
fn ridged(seed: u64, mut x: f64, mut y: f64, octaves: u32) -> f64 {
    let (mut sum, mut weight, mut scale) = (0.0, 0.0, 1.0);
    for octave in 0..octaves {
        let share = 1.0 / scale;
        // The coordinates are rotated at each octave, so that crests don't follow the lattice.
        (x, y) = (0.8 * x + 0.6 * y + 0.37, 0.8 * y - 0.6 * x + 0.71);
        let crest = 1.0 - (2.0 * noise(seed + 1000 * u64::from(octave), x * scale, y * scale) - 1.0).abs();
        sum += share * crest;
        weight += share;
        scale *= 2.1;
    }
    sum / weight
}

/// Noise: random values at integer coordinates, interpolated smoothly.
fn noise(seed: u64, x: f64, y: f64) -> f64 {
    let (x0, y0) = (x.floor(), y.floor());
    let (i, j) = (x0 as i64, y0 as i64);
    let (u, v) = (smooth(x - x0), smooth(y - y0));
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let above = mix(value(seed, i, j), value(seed, i + 1, j), u);
    let below = mix(value(seed, i, j + 1), value(seed, i + 1, j + 1), u);
    mix(above, below, v)
}

/// A pseudo-random number from 0 to 1 for a lattice point, by the mixing function of splitmix64.
fn value(seed: u64, i: i64, j: i64) -> f64 {
    let mut bits = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((i as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9))
        .wrapping_add((j as u64).wrapping_mul(0x94d0_49bb_1331_11eb));
    for _ in 0..2 {
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
    }
    (bits >> 11) as f64 / (1u64 << 53) as f64
}
