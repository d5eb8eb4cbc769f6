//! The constant pool behind the code.

use rustc_hash::FxHashMap;

/// A constant of the pool: 64 bits that repeat, and how many bytes of them are read.
type Key = (u64, u8);

/// An instruction that reads a constant of the pool.
struct Use {
    key: Key,
    /// The position where the instruction's displacement ends.
    displacement: usize,
    /// The position where the instruction ends.
    next: usize,
}

#[derive(Default)]
pub(super) struct ConstantPool {
    uses: Vec<Use>,
}

impl ConstantPool {
    /// Records that the instruction that ends at `next` reads a constant.
    pub(super) fn note(&mut self, key: Key, displacement: usize, next: usize) {
        self.uses.push(Use { key, displacement, next });
    }

    /// Appends the constants to the code. Returns the displacements to patch, as (position where it ends, distance).
    pub(super) fn append(self, bytes: &mut Vec<u8>) -> Vec<(usize, i64)> {
        let code_end = bytes.len();
        // Constants are sorted by length, the longest first, so that each is aligned to its length.
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
