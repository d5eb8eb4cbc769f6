//! How much of a large space a test tries.
//!
//! `cargo test` tries a part of what takes longest, so that a contributor has an answer in seconds; with `BROADLOOM_TESTS=thorough`,
//! which `.ci/run` sets, tests try all of it.

use std::env;
use std::sync::OnceLock;

/// One of how many cases is tried: 1 where tests are thorough, else `usual`.
///
/// ```
/// use broadloom_testkit::one_of;
///
/// let tried = (0..100).step_by(one_of(10)).count();
/// assert!(tried == 10 || tried == 100);
/// ```
///
/// # Panics
/// Where `BROADLOOM_TESTS` is set to another word.
pub fn one_of(usual: usize) -> usize {
    static IS_THOROUGH: OnceLock<bool> = OnceLock::new();
    let is_thorough = IS_THOROUGH.get_or_init(|| match env::var("BROADLOOM_TESTS").as_deref() {
        Ok("thorough") => true,
        Ok(other) => panic!("BROADLOOM_TESTS is \"thorough\", or not set; not {other:?}"),
        Err(_) => false,
    });
    if *is_thorough { 1 } else { usual }
}
