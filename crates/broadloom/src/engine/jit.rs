//! The compiler, or what stands for it in a build without the feature `jit`.
//!
//! In and out: as `broadloom-clif`. Must hold: without the feature there is no compiler for any host, and so nothing
//! compiled.

#[cfg(feature = "jit")]
pub use broadloom_clif::{Compiled, Compiler, Listing, Width, clif};

#[cfg(not(feature = "jit"))]
pub use absent::{Compiled, Compiler, Listing, Width, clif};

#[cfg(not(feature = "jit"))]
mod absent {
    use std::fmt;

    use broadloom_core::{Error, ErrorKind, Kernel, Result};
    use broadloom_mem::{Access, Block, HostFunction, Stores};

    fn off() -> Error {
        Error::new(ErrorKind::Limit, "this build has no compiler: the feature `jit` is off")
    }

    pub fn clif(_: &Kernel, _: &[Access]) -> Result<String> {
        Err(off())
    }

    /// As `broadloom_clif::Listing`, of which there is none.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Listing {
        pub primitives: String,
        pub clif: String,
        pub assembly: String,
        pub bytes: usize,
        pub lanes: usize,
        pub width: Width,
        pub narrowed: Option<String>,
    }

    /// As `broadloom_clif::Width`: what may be asked for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Width {
        W128,
        W256,
        W512,
    }

    impl Width {
        pub fn host() -> Width {
            Width::W128
        }

        pub fn had(self) -> (Width, Option<String>) {
            (Width::W128, None)
        }
    }

    impl fmt::Display for Width {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                Width::W128 => "128",
                Width::W256 => "256",
                Width::W512 => "512",
            })
        }
    }

    pub struct Compiler(());

    #[derive(Clone)]
    pub struct Compiled(());

    impl Compiler {
        pub fn host() -> Result<Compiler> {
            Err(off())
        }

        pub fn announcing(self, _: bool, _: bool) -> Compiler {
            self
        }

        pub fn compile_with(
            &self,
            _: Stores,
            _: &Kernel,
            _: &[HostFunction],
            _: &[Access],
            _: Width,
        ) -> Result<Compiled> {
            Err(off())
        }

        pub fn explain(&self, _: Stores, _: &Kernel, _: &[Access], _: Width) -> Result<Listing> {
            Err(off())
        }
    }

    impl Compiled {
        pub fn run(&self, _: &mut Block<'_>, _: &[u64], _: &mut [u8]) -> Result<()> {
            Err(off())
        }

        pub fn run_slices<'a>(
            &self,
            _: usize,
            _: impl ExactSizeIterator<Item = &'a [u8]>,
            _: impl ExactSizeIterator<Item = &'a mut [u8]>,
            _: &[u64],
            _: &mut [u8],
        ) -> Result<()> {
            Err(off())
        }

        pub fn code_size(&self) -> usize {
            0
        }

        pub fn width(&self) -> Width {
            Width::W128
        }

        pub fn narrowed(&self) -> Option<&str> {
            None
        }
    }
}
