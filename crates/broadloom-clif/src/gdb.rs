//! Registers compiled code with GDB and LLDB, through the interface for code that is compiled at run time.
//!
//! Each [`Registration`] owns an object file in memory, which contains one symbol. The file is in the list that the
//! debugger reads until the registration is dropped. The list is changed by one thread at a time, and only in the
//! process that registered first, not in its forked children.

use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use object::elf;
use object::write::elf::{FileHeader, SectionHeader, Sym, Writer};

/// An entry of the debugger's list: an object file in memory, laid out as the debugger reads it.
#[repr(C)]
struct DebugEntry {
    next: *mut DebugEntry,
    prev: *mut DebugEntry,
    file: *const u8,
    size: u64,
}

#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut DebugEntry,
    first: *mut DebugEntry,
}

const NOTHING: u32 = 0;
const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

/// The head of the list of object files, which the debugger finds by this name.
// SAFETY: by the protocol a process has one such symbol. The feature `gdb` is off by default, since an application may
// link another compiler that defines the symbol.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static mut __jit_debug_descriptor: Descriptor =
    Descriptor { version: 1, action: NOTHING, relevant: null_mut(), first: null_mut() };

/// The function at which the debugger sets a breakpoint, by this name, to look at the descriptor.
// SAFETY: as for `__jit_debug_descriptor`.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn __jit_debug_register_code() {
    // Prevents the optimiser from removing calls of this empty function.
    std::hint::black_box(());
}

/// The lock that is held while the list is changed.
static LIST: Mutex<()> = Mutex::new(());

/// The id of the process that owns the list, or 0. A forked child has a copy of the list, which may be half changed
/// although its lock is free.
static OWNER: AtomicU32 = AtomicU32::new(0);

fn is_owner() -> bool {
    let own = std::process::id();
    match OWNER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => true,
        Err(owner) => owner == own,
    }
}

/// An object file that is in the debugger's list until the registration is dropped.
pub(crate) struct Registration {
    entry: *mut DebugEntry,
    file: Box<[u8]>,
}

// SAFETY: the entry is this registration's own and is only looked at and changed under `LIST`; the file is not changed.
unsafe impl Send for Registration {}
// SAFETY: `&Registration` gives no access to anything.
unsafe impl Sync for Registration {}

/// Registers code with the debugger; `None` in a forked child, and if the object file can't be written.
pub(crate) fn register(name: &str, start: usize, len: usize) -> Option<Registration> {
    if !is_owner() {
        return None;
    }
    let file = object_file(name, start, len)?.into_boxed_slice();
    let entry =
        DebugEntry { next: null_mut(), prev: null_mut(), file: file.as_ptr(), size: file.len() as u64 };
    let entry = Box::into_raw(Box::new(entry));
    let _held = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let list = &raw mut __jit_debug_descriptor;
    // SAFETY: the descriptor and all entries in the list are changed under `LIST` only, which is held; entries in the
    // list are alive, as `Registration::drop` takes them out before it frees them.
    unsafe {
        (*entry).next = (*list).first;
        if let Some(next) = (*entry).next.as_mut() {
            next.prev = entry;
        }
        (*list).first = entry;
        tell(list, REGISTER, entry);
    }
    Some(Registration { entry, file })
}

/// Notifies the debugger that `entry` was added to the list or removed from it.
///
/// # Safety
/// `LIST` is held; `list` is the descriptor and `entry` is alive.
unsafe fn tell(list: *mut Descriptor, action: u32, entry: *mut DebugEntry) {
    // SAFETY: no other thread writes to the descriptor while `LIST` is held. The writes are volatile because the
    // debugger reads them.
    unsafe {
        (&raw mut (*list).relevant).write_volatile(entry);
        (&raw mut (*list).action).write_volatile(action);
        __jit_debug_register_code();
        (&raw mut (*list).action).write_volatile(NOTHING);
        (&raw mut (*list).relevant).write_volatile(null_mut());
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !is_owner() {
            // A forked child does not change its copy of the list, or free the files to which the list refers.
            std::mem::forget(std::mem::take(&mut self.file));
            return;
        }
        let _held = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        let list = &raw mut __jit_debug_descriptor;
        // SAFETY: `LIST` is held; the entry was put into the list by `register` and is taken out here only, once; the
        // entries before and after it are alive.
        unsafe {
            let (next, prev) = ((*self.entry).next, (*self.entry).prev);
            match prev.as_mut() {
                Some(prev) => prev.next = next,
                None => (*list).first = next,
            }
            if let Some(next) = next.as_mut() {
                next.prev = prev;
            }
            tell(list, UNREGISTER, self.entry);
            (*self.entry).file = null();
            drop(Box::from_raw(self.entry));
        }
    }
}

/// An object file with one symbol for a range of addresses. It has no contents, since the code is in memory.
fn object_file(name: &str, start: usize, len: usize) -> Option<Vec<u8>> {
    let machine = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };
    let endian =
        if cfg!(target_endian = "big") { object::Endianness::Big } else { object::Endianness::Little };
    let mut bytes = Vec::new();
    let mut w = Writer::new(endian, true, &mut bytes);
    let text_name = w.add_section_name(b".text");
    let symbol = w.add_string(name.as_bytes());
    w.reserve_file_header();
    w.reserve_null_section_index();
    let text = w.reserve_section_index();
    w.reserve_symtab_section_index();
    w.reserve_strtab_section_index();
    w.reserve_shstrtab_section_index();
    w.reserve_null_symbol_index();
    w.reserve_symbol_index(Some(text));
    w.reserve_symtab();
    w.reserve_strtab();
    w.reserve_shstrtab();
    w.reserve_section_headers();

    w.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        // The file's addresses are final, as in an executable.
        e_type: elf::ET_EXEC,
        e_machine: machine,
        e_entry: 0,
        e_flags: 0,
    })
    .ok()?;
    w.write_null_symbol();
    w.write_symbol(&Sym {
        name: Some(symbol),
        section: Some(text),
        st_info: elf::STB_GLOBAL << 4 | elf::STT_FUNC,
        st_other: elf::STV_DEFAULT,
        st_shndx: 0,
        st_value: start as u64,
        st_size: len as u64,
    });
    w.write_strtab();
    w.write_shstrtab();
    w.write_null_section_header();
    w.write_section_header(&SectionHeader {
        name: Some(text_name),
        sh_type: elf::SHT_NOBITS,
        sh_flags: u64::from(elf::SHF_ALLOC | elf::SHF_EXECINSTR),
        sh_addr: start as u64,
        sh_offset: 0,
        sh_size: len as u64,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 16,
        sh_entsize: 0,
    });
    // The first symbol, the null symbol, is local.
    w.write_symtab_section_header(1);
    w.write_strtab_section_header();
    w.write_shstrtab_section_header();
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::name;
    use crate::symbols::tests::kernel as test_kernel;
    use crate::{Compiler, VectorWidth};
    use broadloom_mem::Access;
    use object::read::{Object, ObjectSymbol};

    /// The name and address range of each symbol in the debugger's list.
    fn listed() -> Vec<(String, (usize, usize))> {
        let _held = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        // SAFETY: the list is walked under `LIST`; entries are alive while they are in it, and so are their files.
        unsafe {
            let list = &raw const __jit_debug_descriptor;
            let (mut at, mut before) = ((*list).first, null_mut());
            while let Some(entry) = at.as_ref() {
                assert_eq!(entry.prev, before, "links go both ways");
                let bytes = std::slice::from_raw_parts(entry.file, entry.size as usize);
                let file = object::File::parse(bytes).expect("an object file");
                found.extend(file.symbols().map(|s| {
                    (s.name().expect("a name").to_string(), (s.address() as usize, s.size() as usize))
                }));
                (before, at) = (at, entry.next);
            }
        }
        found
    }

    #[test]
    fn kernels_are_listed_while_they_live() {
        let Ok(compiler) = Compiler::host() else { return };
        let compiler = compiler.announcing(false, true);
        let compile = |n| {
            compiler
                .compile(&test_kernel(n), &[], &[Access::Contiguous], VectorWidth::target())
                .expect("compiles")
        };
        let kernels = [10, 11, 12].map(|n| (n, compile(n)));
        for (n, compiled) in &kernels {
            let symbol = (name(&test_kernel(*n)), compiled.code_range());
            assert!(listed().contains(&symbol), "{symbol:?}");
        }
        let [first, second, third] = kernels;
        let is_listed = |n: usize| listed().iter().any(|(symbol, _)| *symbol == name(&test_kernel(n)));
        // Removes an entry from the middle of the list, which happens only when the last owner of the entry is dropped.
        let clone = second.1.clone();
        drop(second);
        assert!(is_listed(11));
        drop(clone);
        assert_eq!([is_listed(10), is_listed(11), is_listed(12)], [true, false, true]);
        drop((first, third));
        assert!(!is_listed(10) && !is_listed(12));
    }

    #[test]
    fn threads_register_and_unregister() {
        let Ok(compiler) = Compiler::host() else { return };
        let compiler = &compiler.announcing(false, true);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for _ in 0..20 {
                        let n = 20 + thread;
                        let compiled = compiler
                            .compile(&test_kernel(n), &[], &[Access::Contiguous], VectorWidth::target())
                            .expect("compiles");
                        assert!(listed().contains(&(name(&test_kernel(n)), compiled.code_range())));
                    }
                });
            }
        });
        assert!((20..24).all(|n| listed().iter().all(|(symbol, _)| *symbol != name(&test_kernel(n)))));
    }
}
