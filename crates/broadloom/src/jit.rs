//! The compiler, or a substitute for it in a build without the feature `jit`.
//!
//! The substitute has the names of `broadloom-clif`. It can't be made for any target, so that nothing is ever compiled.

#[cfg(feature = "jit")]
pub use broadloom_clif::{Compiled, Compiler, Listing, clif};

#[cfg(not(feature = "jit"))]
pub use absent::{Compiled, Compiler, Listing, clif};

#[cfg(not(feature = "jit"))]
mod absent {
    use broadloom_core::{Error, ErrorKind, Kernel, Result};
    use broadloom_ir::{CodePlan, Purpose, VectorWidth};
    use broadloom_mem::{Access, Apart, Block, HostFunction};

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
        pub width: VectorWidth,
        pub narrowed: Option<String>,
    }

    /// Without values.
    #[derive(Clone)]
    enum Never {}

    /// As `broadloom_clif::Compiler`, of which there is none.
    pub struct Compiler(Never);

    /// As `broadloom_clif::Compiled`, of which there is none.
    #[derive(Clone)]
    pub struct Compiled(Never);

    impl Compiler {
        pub fn host() -> Result<Compiler> {
            Err(off())
        }

        pub fn announcing(self, _: bool, _: bool) -> Compiler {
            self
        }

        pub fn compile_for(
            &self,
            _: Purpose,
            _: &Kernel,
            _: &[HostFunction],
            _: &[Access],
            _: VectorWidth,
        ) -> Result<Compiled> {
            match self.0 {}
        }

        pub fn probe(&self) -> Result<()> {
            match self.0 {}
        }

        pub fn explain(&self, _: Purpose, _: &Kernel, _: &[Access], _: VectorWidth) -> Result<Listing> {
            match self.0 {}
        }
    }

    impl Compiled {
        pub fn plan(&self) -> &CodePlan {
            match self.0 {}
        }

        pub fn run(&self, _: &mut Block<'_>, _: &[u64], _: &mut [u8]) -> Result<()> {
            match self.0 {}
        }

        pub fn reads_steps(&self) -> bool {
            match self.0 {}
        }

        pub fn run_slices<'a>(
            &self,
            _: usize,
            _: impl ExactSizeIterator<Item = &'a [u8]>,
            _: impl ExactSizeIterator<Item = &'a mut [u8]>,
            _: &[u64],
            _: &mut [u8],
        ) -> Result<()> {
            match self.0 {}
        }

        pub fn run_apart(&self, _: usize, _: &mut Apart<'_>, _: &[u64], _: &mut [u8]) -> Result<()> {
            match self.0 {}
        }

        pub fn run_leaves(&self, _: usize, _: &mut Apart<'_>, _: &[u64], _: &mut [u8]) -> Result<()> {
            match self.0 {}
        }

        pub fn code_size(&self) -> usize {
            match self.0 {}
        }

        pub fn width(&self) -> VectorWidth {
            match self.0 {}
        }

        pub fn narrowed(&self) -> Option<&str> {
            match self.0 {}
        }
    }
}
