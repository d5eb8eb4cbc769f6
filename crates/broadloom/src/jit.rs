//! The compiler, or a substitute for it in a build without the feature `jit`.
//!
//! The substitute has the names of `broadloom-clif`. It can't be made for any target, so that nothing is ever compiled.

#[cfg(feature = "jit")]
pub use broadloom_clif::{Compiled, Compiler, Listing, clif, leaf_rows};

#[cfg(not(feature = "jit"))]
pub use absent::{Compiled, Compiler, Listing, clif, leaf_rows};

#[cfg(not(feature = "jit"))]
mod absent {
    use broadloom_core::{Error, ErrorKind, Kernel, Result};
    use broadloom_ir::VectorWidth;
    use broadloom_mem::{Access, Apart, Block, HostFunction, Stores};

    fn off() -> Error {
        Error::new(ErrorKind::Limit, "this build has no compiler: the feature `jit` is off")
    }

    pub fn leaf_rows(_: &Kernel, _: VectorWidth) -> u32 {
        1
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
        pub width: VectorWidth,
        pub narrowed: Option<String>,
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
            _: VectorWidth,
        ) -> Result<Compiled> {
            Err(off())
        }

        pub fn probe(&self) -> Result<()> {
            Err(off())
        }

        pub fn explain(&self, _: Stores, _: &Kernel, _: &[Access], _: VectorWidth) -> Result<Listing> {
            Err(off())
        }
    }

    impl Compiled {
        pub fn run(&self, _: &mut Block<'_>, _: &[u64], _: &mut [u8]) -> Result<()> {
            Err(off())
        }

        pub fn reads_steps(&self) -> bool {
            false
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

        pub fn run_apart(&self, _: usize, _: &mut Apart<'_>, _: &[u64], _: &mut [u8]) -> Result<()> {
            Err(off())
        }

        pub fn lanes(&self) -> usize {
            1
        }

        pub fn leaf_rows(&self) -> Option<usize> {
            None
        }

        pub fn code_size(&self) -> usize {
            0
        }

        pub fn width(&self) -> VectorWidth {
            VectorWidth::W128
        }

        pub fn narrowed(&self) -> Option<&str> {
            None
        }
    }
}
