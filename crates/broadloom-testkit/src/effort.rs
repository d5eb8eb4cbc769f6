//! Decides how much of a large space a test covers.
//!
//! `cargo test` covers only a part of the largest spaces, so that it takes seconds. With `BROADLOOM_TESTS=thorough`, which
//! `.ci/full` sets, tests cover all of them.

use std::env;
use std::sync::OnceLock;

/// The step with which a test goes through its cases: 1 if tests are thorough, else `usual`.
///
/// ```
/// use broadloom_testkit::one_of;
///
/// let tried = (0..100).step_by(one_of(10)).count();
/// assert!(tried == 10 || tried == 100);
/// ```
///
/// # Panics
/// If `BROADLOOM_TESTS` has another value than `thorough`.
pub fn one_of(usual: usize) -> usize {
    static IS_THOROUGH: OnceLock<bool> = OnceLock::new();
    let is_thorough = IS_THOROUGH.get_or_init(|| match env::var("BROADLOOM_TESTS").as_deref() {
        Ok("thorough") => true,
        Ok(other) => panic!("BROADLOOM_TESTS is \"thorough\", or not set; not {other:?}"),
        Err(_) => false,
    });
    if *is_thorough { 1 } else { usual }
}
