//! The constant pool behind the code.

use rustc_hash::FxHashMap;

/// 64 bits that repeat, and how many bytes of them are read.
type Key = (u64, u8);

/// An instruction that reads a constant.
struct Use {
    key: Key,
    /// Where its displacement ends.
    displacement: usize,
    /// Where it ends.
    next: usize,
}

#[derive(Default)]
pub(super) struct ConstantPool {
    uses: Vec<Use>,
}

impl ConstantPool {
    /// Notes that the instruction that ends at `next` reads a constant.
    pub(super) fn note(&mut self, key: Key, displacement: usize, next: usize) {
        self.uses.push(Use { key, displacement, next });
    }

    /// Appends the constants to the code; gives back the displacements to patch, as (end, distance).
    pub(super) fn append(self, bytes: &mut Vec<u8>) -> Vec<(usize, i64)> {
        let code_end = bytes.len();
        // The longest constants first, so that each is aligned to its length.
        let mut keys: Vec<Key> = self.uses.iter().map(|u| u.key).collect();
        keys.sort_unstable_by_key(|&(bits, length)| (u8::MAX - length, bits));
        keys.dedup();
        // Bytes that are no code trap if they are ever run.
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
