//! The constant pool, which is placed behind the code.

use rustc_hash::FxHashMap;

/// A constant in the pool: a 64-bit pattern, and the size in bytes to which it is repeated or truncated.
type Key = (u64, u8);

/// An instruction that reads a constant from the pool.
struct Use {
    key: Key,
    /// The offset in the code at which the instruction's displacement ends.
    displacement: usize,
    /// The offset in the code at which the instruction ends.
    next: usize,
}

#[derive(Default)]
pub(super) struct ConstantPool {
    uses: Vec<Use>,
}

impl ConstantPool {
    /// Records that an instruction reads a constant. The instruction ends at the offset `next`, its displacement at the
    /// offset `displacement`.
    pub(super) fn note(&mut self, key: Key, displacement: usize, next: usize) {
        self.uses.push(Use { key, displacement, next });
    }

    /// Appends the constants to the code. Returns the displacements to patch, as (offset in the code at which it ends,
    /// value).
    pub(super) fn append(self, bytes: &mut Vec<u8>) -> Vec<(usize, i64)> {
        let code_end = bytes.len();
        // The largest constants come first, so that each is aligned to its size.
        let mut keys: Vec<Key> = self.uses.iter().map(|u| u.key).collect();
        keys.sort_unstable_by_key(|&(bits, length)| (u8::MAX - length, bits));
        keys.dedup();
        // The padding is filled with breakpoints, which trap if they are ever executed.
        bytes.resize(code_end.next_multiple_of(64), 0xcc);
        let mut places: FxHashMap<Key, usize> = FxHashMap::default();
        for key in keys {
            places.insert(key, bytes.len());
            bytes.extend(key.0.to_le_bytes().iter().cycle().take(usize::from(key.1)));
        }
        let patch = |u: &Use| (u.displacement, places[&u.key] as i64 - u.next as i64);
        self.uses.iter().map(patch).collect()
    }
}
